import PCastCore
import Testing

@testable import PCastDevices

/// The slates of named streams, and their text.
@Suite("Slates")
struct SlatePainterTests {
    @Test("every character that can be drawn has a glyph, and a mark changes the letter")
    func glyphs() throws {
        for character in DrawableText.characters where character != " " {
            let glyph = try #require(StrokeGlyph(character), "\(character)")
            let mask = glyph.tallMask(unit: 3)
            #expect(mask.values.contains { $0 > 200 }, "\(character)")
            if let marked = DrawableText.markedLetter(character) {
                let letter = try #require(StrokeGlyph(marked.letter)).tallMask(unit: 3)
                #expect(mask.values != letter.values, "\(character)")
            }
        }
        #expect(StrokeGlyph("中") == nil)
        #expect(DrawableText.firstUndrawable(in: "Où est l’émission ? 100 %") == nil)
        #expect(DrawableText.firstUndrawable(in: "a\nb") == "\n")
        #expect(DrawableText.firstUndrawable(in: "до 10") == "д")
    }

    @Test("the frame is dimmed, and the text is white in its middle")
    func dims() {
        let frame = TestFrames.empty(Dimensions(width: 640, height: 360), luma: 216)
        let slate = SlatePainter.draw("Back soon", over: frame, dimensions: Dimensions(width: 16, height: 16))
        #expect(slate.dimensions == frame.dimensions)
        #expect(slate.luma[0] == 86, "16 and 35 % of 200")
        #expect(slate.chroma.u[0] == 158, "128 and 35 % of 88")
        func brightest(_ rows: Range<Int>) -> UInt8 {
            rows.flatMap { row in (0..<640).map { slate.luma[row * slate.strideY + $0] } }.max() ?? 0
        }
        #expect(brightest(150..<210) > 230)
        #expect(brightest(0..<100) == 86)
    }

    @Test("a slate without a frame is dark, and its sides are even")
    func withoutFrame() {
        let slate = SlatePainter.draw("Back soon", over: nil, dimensions: Dimensions(width: 641, height: 361))
        #expect(slate.dimensions == Dimensions(width: 640, height: 360))
        #expect(slate.luma[0] < 50)
        let smallest = SlatePainter.draw("Back soon", over: nil, dimensions: Dimensions(width: 1, height: 1))
        #expect(smallest.dimensions == Dimensions(width: 16, height: 16))
    }

    @Test("a text is divided between words, and a long one is smaller")
    func layout() {
        let (line, unit) = SlatePainter.layout("Back soon", width: 1_280, height: 720)
        #expect(line == ["Back soon"])
        let text = String(repeating: "We return after the break. ", count: 7)
        let (lines, smaller) = SlatePainter.layout(text, width: 1_280, height: 720)
        #expect(lines.count > 1)
        #expect(lines.joined(separator: " ") == text.dropLast())
        #expect(Double(lines.count) * smaller * 11.2 <= 720 * 0.6)
        #expect(smaller <= unit)
        let (parts, _) = SlatePainter.layout(String(repeating: "x", count: 100), width: 640, height: 360)
        #expect(parts.count > 1 && parts.joined().count == 100)
        #expect(SlatePainter.layout("", width: 640, height: 360).lines.isEmpty)
    }
}
