/// A line of characters at one height. The glyphs are computed once, because the clock changes with every frame.
struct GlyphLine {
    let height: Int
    private let masks: [Character: CoverageMask]

    init(height: Int, characters: String) {
        let height = max(7, height)
        self.height = height
        var masks: [Character: CoverageMask] = [:]
        for character in Set(characters) { masks[character] = StrokeGlyph(character)?.mask(height: height) }
        self.masks = masks
    }

    /// Returns the width of a character. All digits have the same width, so that a running clock does not move.
    private func advance(_ character: Character) -> Int {
        character == ":" || character == "." ? height * 46 / 100 : height * 80 / 100
    }

    func width(of text: String) -> Int { text.reduce(0) { $0 + advance($1) } }

    /// Draws a text, centered at `x` and with its top at `y`.
    func write(_ text: String, centredAt x: Int, top y: Int, colour: FrameColour, on canvas: FrameCanvas) {
        var pen = x - width(of: text) / 2
        for character in text {
            let advance = advance(character)
            if let mask = masks[character] {
                canvas.stamp(mask, left: pen + (advance - mask.width) / 2, top: y, colour: colour)
            }
            pen += advance
        }
    }
}
