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
