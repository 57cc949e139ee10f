import PCastCore

/// Assigns strictly increasing timestamps to frames, from their own timestamps or from the frame rate.
struct FrameTimes {
    private var last: Int64?

    /// Returns the timestamp of the next frame. Its own time is in microseconds since the start; nil if it has none. An
    /// unknown frame rate (nil) counts as 25.
    mutating func next(_ timestamp: Int64?, frameRate: Double?) -> MediaTime {
        let following = last.map { $0 + Int64(90_000 / max(1, frameRate ?? 25)) } ?? 0
        var ticks = timestamp.map { ClockRate.video.ticks(in: .microseconds($0)) } ?? following
        if let last { ticks = max(ticks, last + 1) }
        last = ticks
        return MediaTime(ticks: ticks, rate: .video)
    }
}
