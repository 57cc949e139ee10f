import PCastCore

/// The timestamps of an audio track across changes of its source: by the number of samples while a source is
/// contiguous, and by capture time after a gap.
struct AudioTimeline {
    /// The largest deviation of capture times in contiguous audio.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))

    private var origin: WallTime?
    private var next: Int64 = 0

    /// Returns the timestamp of a frame; nil if its time is already covered, e.g., when another microphone takes over.
    mutating func timestamp(_ captureTime: WallTime, samples: Int) -> MediaTime? {
        let origin = origin ?? captureTime
        self.origin = origin
        let captured = ClockRate.opus.ticks(in: captureTime - origin)
        guard captured >= next - Self.tolerance else { return nil }
        if captured > next + Self.tolerance { next = captured }
        defer { next += Int64(samples) }
        return MediaTime(ticks: next, rate: .opus)
    }
}
