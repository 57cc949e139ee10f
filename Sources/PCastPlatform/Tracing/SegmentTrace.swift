import PCastCore
import PCastIO
import PCastPackaging
import Tracing

/// The spans of HLS segments: “segment”, from the capture of the first frame until the segment is available. The time beyond
/// its duration is that of the path from the publisher and of the packager.
struct SegmentTrace: Sendable {
    private let tracer: any Tracer

    /// Returns nil for a tracer that discards spans.
    init?(_ tracer: any Tracer) {
        guard !(tracer is NoOpTracer) else { return nil }
        self.tracer = tracer
    }

    /// A time on the platform's clock.
    private struct WallInstant: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        init(_ time: WallTime) { nanosecondsSinceEpoch = UInt64(max(time.nanosecondsSinceEpoch, 0)) }

        static func < (first: WallInstant, second: WallInstant) -> Bool {
            first.nanosecondsSinceEpoch < second.nanosecondsSinceEpoch
        }
    }

    /// Notes that a segment has become available.
    func completed(_ segment: CompletedSegment, of stream: StreamID) {
        // A publisher whose clock is ahead has captured it later than now.
        let start = min(segment.start, MonotonicClock.wallTime())
        let span = tracer.startSpan("segment", context: .topLevel, at: WallInstant(start))
        span.attributes["pcast.stream"] = stream.description
        span.attributes["pcast.rendition"] = segment.rendition
        span.attributes["pcast.segment"] = Int(segment.number)
        span.attributes["pcast.segment.milliseconds"] = Int(segment.duration.seconds * 1_000)
        span.attributes["pcast.segment.bytes"] = segment.size
        span.end()
    }
}
