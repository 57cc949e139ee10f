import PCastMedia

/// The time of a track of pictures that come from one source after another: since the first, by when each was captured.
struct PictureTimeline {
    private var origin: WallTime?
    private var last: Int64 = -1

    /// The moment of a picture in the track; later than the one before, whatever the sources' clocks say.
    mutating func place(_ captureTime: WallTime) -> MediaTime {
        let origin = origin ?? captureTime
        self.origin = origin
        last = max(last + 1, ClockRate.video.ticks(in: captureTime - origin))
        return MediaTime(ticks: last, rate: .video)
    }
}
