import PCastCore

/// The static part of the test pattern: background, grid, ring, bars, gray steps and the name. It is drawn once per
/// size.
struct TestCard {
    private static let top = FrameColour(24, 34, 62)
    private static let bottom = FrameColour(10, 12, 24)
    private static let line = FrameColour(40, 52, 86)
    static let accent = FrameColour(96, 200, 255)

    /// The eight color bars at 75 % (EBU Tech 3325), from white to black.
    private static let bars = [
        FrameColour(191, 191, 191), FrameColour(191, 191, 0), FrameColour(0, 191, 191), FrameColour(0, 191, 0),
        FrameColour(191, 0, 191), FrameColour(191, 0, 0), FrameColour(0, 0, 191), FrameColour(0, 0, 0),
    ]

    let dimensions: Dimensions

    func draw(on canvas: FrameCanvas) {
        drawBackground(on: canvas)
        drawRing(on: canvas)
        drawBars(on: canvas)
        let height = canvas.height
        let title = GlyphLine(height: height * 9 / 100, characters: "PCast")
        title.write("PCast", centredAt: canvas.width / 2, top: height * 14 / 100, colour: .white, on: canvas)
    }

    private func drawBackground(on canvas: FrameCanvas) {
        for row in stride(from: 0, to: canvas.height, by: 2) {
            let colour = FrameColour.blend(Self.top, Self.bottom, Double(row) / Double(canvas.height))
            canvas.fill(left: 0, top: row, right: canvas.width, bottom: row + 2, colour: colour)
        }
        let cell = max(16, canvas.height / 9)
        for x in stride(from: canvas.width / 2 % cell, to: canvas.width, by: cell) {
            canvas.fill(left: x, top: 0, right: x + 1, bottom: canvas.height, colour: Self.line)
        }
        for y in stride(from: canvas.height / 2 % cell, to: canvas.height, by: cell) {
            canvas.fill(left: 0, top: y, right: canvas.width, bottom: y + 1, colour: Self.line)
        }
    }

    /// Draws the ring around the clapper's disc, with a dark background that makes the disc visible at once.
    private func drawRing(on canvas: FrameCanvas) {
        let diameter = canvas.height * 34 / 100
        let left = (canvas.width - diameter) / 2
        let top = (canvas.height - diameter) / 2
        canvas.stamp(.disc(diameter: diameter), left: left, top: top, colour: FrameColour(8, 10, 18))
        let thickness = max(1.5, Double(canvas.height) / 180)
        canvas.stamp(
            .ring(diameter: diameter, thickness: thickness), left: left, top: top, colour: Self.accent)
    }

    private func drawBars(on canvas: FrameCanvas) {
        let (width, height) = (canvas.width, canvas.height)
        let count = Self.bars.count
        for (index, colour) in Self.bars.enumerated() {
            let edges = (index * width / count & ~1, (index + 1) * width / count & ~1)
            canvas.fill(
                left: edges.0, top: height * 89 / 100, right: index == count - 1 ? width : edges.1,
                bottom: height * 96 / 100, colour: colour)
            let grey = FrameColour.blend(.black, .white, Double(index) / Double(count - 1))
            canvas.fill(
                left: edges.0, top: height * 96 / 100, right: index == count - 1 ? width : edges.1, bottom: height,
                colour: grey)
        }
    }
}

/// A color in BT.601 with limited range, as in the planes of a frame.
struct FrameColour: Hashable {
    var luma: UInt8
    var blueDifference: UInt8
    var redDifference: UInt8

    /// Converts red, green and blue from 0 to 255 (ITU-R BT.601, section 3.5).
    init(_ red: Int, _ green: Int, _ blue: Int) {
        luma = UInt8(16 + (65_738 * red + 129_057 * green + 25_064 * blue + 128_000) / 256_000)
        blueDifference = UInt8(128 + (-37_945 * red - 74_494 * green + 112_439 * blue) / 256_000)
        redDifference = UInt8(128 + (112_439 * red - 94_154 * green - 18_285 * blue) / 256_000)
    }

    static let black = FrameColour(0, 0, 0)
    static let white = FrameColour(255, 255, 255)

    /// Returns a mix of two colors; `part` is from 0 to 1.
    static func blend(_ from: FrameColour, _ to: FrameColour, _ part: Double) -> FrameColour {
        let mix = { (a: UInt8, b: UInt8) in UInt8((Double(a) + (Double(b) - Double(a)) * part).rounded()) }
        var colour = from
        colour.luma = mix(from.luma, to.luma)
        colour.blueDifference = mix(from.blueDifference, to.blueDifference)
        colour.redDifference = mix(from.redDifference, to.redDifference)
        return colour
    }
}
