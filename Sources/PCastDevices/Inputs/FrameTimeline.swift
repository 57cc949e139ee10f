import PCastCore

/// The timestamps of a video track across changes of its source, from capture times relative to the first frame.
struct FrameTimeline {
    private var origin: WallTime?
    private var last: Int64 = -1

    /// Returns the timestamp of a frame. It is later than the previous one, even if the sources' clocks differ.
    mutating func timestamp(_ captureTime: WallTime) -> MediaTime {
        let origin = origin ?? captureTime
        self.origin = origin
        last = max(last + 1, ClockRate.video.ticks(in: captureTime - origin))
        return MediaTime(ticks: last, rate: .video)
    }
}
