import Foundation
import PCastCore
import PCastRendering

/// Reads the size and the time strip of each frame of a captured desktop.
final class CapturedScreen: RenderSurface {
    struct Sight: Sendable {
        /// The number of sights before this one.
        var index: Int
        var dimensions: Dimensions
        var stamp: TestPatternStamp?
        /// Whether it is one of the black frames that replace a disconnected device.
        var isBlack: Bool
        var shown: WallTime
    }

    /// A summary of the strips of a sequence of frames.
    struct Summary: CustomStringConvertible {
        /// Whether no frame is older than its predecessor.
        private(set) var isOrdered = true
        /// Whether each frame was shown after it was drawn.
        private(set) var isPast = true
        /// The number of different frames.
        private(set) var count = 0
        /// The number of frames between them that were not seen.
        private(set) var lost = 0
        /// The times between drawing and showing a frame, in milliseconds.
        private var delays: [Double] = []

        init(_ sights: [Sight]) {
            var last: UInt16?
            for sight in sights {
                guard let stamp = sight.stamp else { continue }
                let step = last.map { stamp.counter &- $0 } ?? 1
                last = stamp.counter
                if step > 0x7FFF { isOrdered = false }
                guard step > 0 else { continue }
                count += 1
                lost += Int(step) - 1
                let delay = sight.shown - stamp.captureTime(near: sight.shown)
                delays.append(delay.seconds * 1_000)
                if delay < .zero { isPast = false }
            }
            delays.sort()
        }

        /// The median time between drawing and showing a frame, in milliseconds; nil without frames.
        var medianDelay: Double? { delays.isEmpty ? nil : delays[delays.count / 2] }

        var description: String {
            "\(count) frames, \(lost) lost, delay \(Int(medianDelay ?? 0)) ms median"
        }
    }

    let sights = Awaited<Sight>()

    func show(_ frame: VideoFrame) {
        let now = WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000))
        sights.add(
            Sight(
                index: sights.values.count, dimensions: frame.dimensions, stamp: TestPatternStrip.read(frame),
                isBlack: Self.isBlack(frame), shown: now))
    }

    /// Waits for a further frame with the strip, in a size. Throws if there is none.
    @discardableResult
    func strip(_ dimensions: Dimensions, after count: Int = 0) async throws -> Sight {
        let sight = await sights.first(after: count) { $0.stamp != nil && $0.dimensions == dimensions }
        guard let sight else { throw EndToEndFailure("no strip of \(dimensions) is seen: \(summary)") }
        return sight
    }

    /// The last frames, for the report of a failure.
    private var summary: String {
        sights.values.suffix(5).map { "\($0.dimensions) \($0.stamp.map { "\($0.counter)" } ?? "without a strip")" }
            .joined(separator: ", ")
    }

    private static func isBlack(_ frame: VideoFrame) -> Bool {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        return stride(from: 0, to: height, by: 8).allSatisfy { row in
            stride(from: 0, to: width, by: 8).allSatisfy { frame.planeY[row * frame.strideY + $0] < 32 }
        }
    }

    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
