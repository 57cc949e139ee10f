import Glibc
package import PCastCore

/// The test pattern of the synthetic source, for measurements.
///
/// Its time strip contains the frame counter and the capture time (`TestPatternStrip`). The disc flashes with the audio
/// (`ClapperSchedule`), a hand rotates once per second, and digits show the wall clock. The static part is drawn once;
/// a frame costs a copy of it and the moving parts.
package final class TestPattern: Sendable {
    /// The size of the frames.
    package let dimensions: Dimensions
    private let card: [UInt8]
    private let disc: CoverageMask
    private let hand: CoverageMask
    private let clock: GlyphLine
    private let caption: GlyphLine

    /// Creates a test pattern of at least 64 columns and 32 rows.
    package init(dimensions: Dimensions) {
        precondition(
            dimensions.width >= TestPatternStrip.cellCount && dimensions.height >= 32,
            "the dimensions are too small for a test pattern")
        self.dimensions = dimensions
        let height = dimensions.height
        let byteCount = VideoFrame.layout(dimensions).byteCount
        var card = [UInt8](repeating: 128, count: byteCount)
        card.withUnsafeMutableBytes {
            TestCard(dimensions: dimensions).draw(on: FrameCanvas($0, dimensions: dimensions))
        }
        self.card = card
        disc = .disc(diameter: Self.discDiameter(height: height))
        hand = .disc(diameter: max(5, height * 4 / 100))
        clock = GlyphLine(height: height * 85 / 1000, characters: "0123456789:.")
        caption = GlyphLine(height: height * 36 / 1000, characters: "0123456789-xUTC")
    }

    /// Returns the diameter of the clapper's disc in pixels.
    static func discDiameter(height: Int) -> Int { height * 24 / 100 }

    /// Draws a complete frame.
    ///
    /// - Parameters:
    ///   - counter: The number of frames before this one.
    ///   - captureTime: The time that strip, clock, hand and disc show.
    ///   - frame: The frame, of the size of this test pattern. It must not be shared yet.
    package func draw(counter: Int, captureTime: WallTime, into frame: VideoFrame) {
        precondition(frame.dimensions == dimensions, "the frame must have the same dimensions")
        card.withUnsafeBytes { frame.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<card.count])) }
        let canvas = FrameCanvas(frame.memory, dimensions: dimensions)
        if ClapperSchedule.isClapping(at: captureTime) {
            let left = (canvas.width - disc.width) / 2
            canvas.stamp(disc, left: left, top: (canvas.height - disc.height) / 2, colour: .white)
        }
        drawClockHand(at: captureTime, on: canvas)
        drawClock(at: captureTime, counter: counter, on: canvas)
        TestPatternStrip.draw(
            TestPatternStamp(counter: UInt16(truncatingIfNeeded: counter), captureTime: captureTime), into: frame)
    }

    /// Draws a ball on the ring, at its top at the start of a second, and one on a track below that moves back and
    /// forth.
    private func drawClockHand(at time: WallTime, on canvas: FrameCanvas) {
        let part = (time - ClapperSchedule.second(of: time)).seconds
        let radius = Double(canvas.height) * 0.17 - Double(canvas.height) / 360
        let x = Double(canvas.width) / 2 + radius * sin(part * 2 * .pi)
        let y = Double(canvas.height) / 2 - radius * cos(part * 2 * .pi)
        drawBall(x: x, y: y, on: canvas)

        let swing = Double(time.millisecondsSinceEpoch % 4_000) / 4_000
        let along = swing < 0.5 ? swing * 2 : 2 - swing * 2
        let margin = Double(hand.width)
        drawBall(x: margin + along * (Double(canvas.width) - 2 * margin), y: Double(canvas.height) * 0.867, on: canvas)
    }

    private func drawBall(x: Double, y: Double, on canvas: FrameCanvas) {
        canvas.stamp(
            hand, left: Int(x) - hand.width / 2, top: Int(y) - hand.height / 2, colour: TestCard.accent)
    }

    private func drawClock(at time: WallTime, counter: Int, on canvas: FrameCanvas) {
        let text = WallClockText(time)
        let height = canvas.height
        clock.write(text.clock, centredAt: canvas.width / 2, top: height * 705 / 1000, colour: .white, on: canvas)
        caption.write(
            "\(text.date) UTC  \(dimensions)  \(counter)", centredAt: canvas.width / 2, top: height * 808 / 1000,
            colour: TestCard.accent, on: canvas)
    }
}

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

/// The date and the time of day in UTC, as the test pattern shows them.
struct WallClockText {
    /// The date, such as `2026-11-21`.
    let date: String

    /// The time, such as `14:03:27.120`.
    let clock: String

    init(_ time: WallTime) {
        let milliseconds = time.millisecondsSinceEpoch
        let day = (milliseconds - (milliseconds % 86_400_000 + 86_400_000) % 86_400_000) / 86_400_000
        let rest = Int(milliseconds - day * 86_400_000)
        clock =
            Self.padded(rest / 3_600_000, 2) + ":" + Self.padded(rest / 60_000 % 60, 2) + ":"
            + Self.padded(rest / 1_000 % 60, 2) + "." + Self.padded(rest % 1_000, 3)
        let (year, month, dayOfMonth) = GregorianCalendar.date(ofDay: day)
        date = "\(year)-" + Self.padded(Int(month), 2) + "-" + Self.padded(Int(dayOfMonth), 2)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// The coverage of each pixel by a shape, from 0 to 255. A shape is computed once and drawn to every frame.
struct CoverageMask {
    let width: Int
    let height: Int
    let values: [UInt8]

    /// Creates a mask. `distance` returns the distance from a point to the edge of the shape in pixels, negative
    /// inside.
    init(width: Int, height: Int, distance: (_ x: Double, _ y: Double) -> Double) {
        self.width = max(1, width)
        self.height = max(1, height)
        var values: [UInt8] = []
        values.reserveCapacity(self.width * self.height)
        for row in 0..<self.height {
            for column in 0..<self.width {
                let edge = distance(Double(column) + 0.5, Double(row) + 0.5)
                values.append(UInt8((min(max(0.5 - edge, 0), 1) * 255).rounded()))
            }
        }
        self.values = values
    }

    /// Returns a filled circle that touches all four sides.
    static func disc(diameter: Int) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            hypot(x - radius, y - radius) - radius
        }
    }

    /// Returns a circle of this line thickness, in pixels, that touches all four sides.
    static func ring(diameter: Int, thickness: Double) -> CoverageMask {
        let radius = Double(diameter) / 2
        return CoverageMask(width: diameter, height: diameter) { x, y in
            abs(hypot(x - radius, y - radius) - radius + thickness / 2) - thickness / 2
        }
    }
}

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
