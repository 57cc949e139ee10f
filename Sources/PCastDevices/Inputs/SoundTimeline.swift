import PCastMedia

/// The time of a track of sound that comes from one source after another: since the first sample, counted in samples
/// while a source runs on, and by when it was captured after a gap.
struct SoundTimeline {
    /// What capture times may be off by, and still be of sound that runs on.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))

    private var origin: WallTime?
    private var next: Int64 = 0

    /// The moment of a frame in the track; nil for sound of which the track has had the time already, as when one
    /// microphone takes over from another.
    mutating func place(_ captureTime: WallTime, samples: Int) -> MediaTime? {
        let origin = origin ?? captureTime
        self.origin = origin
        let captured = ClockRate.opus.ticks(in: captureTime - origin)
        guard captured >= next - Self.tolerance else { return nil }
        if captured > next + Self.tolerance { next = captured }
        defer { next += Int64(samples) }
        return MediaTime(ticks: next, rate: .opus)
    }
}
