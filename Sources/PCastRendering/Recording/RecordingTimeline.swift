import PCastMedia

/// Where each frame of a stream stands in its recording. It is told the time.
///
/// A track's own times run evenly, but begin anywhere. The first frame of a track is placed by its capture time when
/// both tracks' are known, else by its arrival, and the others follow by the track's times.
struct RecordingTimeline {
    private struct Origin {
        var arrival: Instant
        var captureTime: WallTime?
    }

    private struct Track {
        /// From the track's own time to the recording's.
        var shift: TimeSpan
        var last: TimeSpan?
    }

    /// Whether nothing is recorded before a picture that can be decoded by itself.
    private let waitsForPicture: Bool
    private var origin: Origin?
    private var tracks: [MediaType: Track] = [:]

    init(hasVideo: Bool) { waitsForPicture = hasVideo }

    /// Where a frame stands since the beginning; nil when it comes before that.
    mutating func position(of frame: EncodedFrame, arrivedAt now: Instant) -> TimeSpan? {
        let media = frame.codec.mediaType
        if origin == nil {
            guard !waitsForPicture || media == .video && frame.isKeyFrame else { return nil }
            origin = Origin(arrival: now, captureTime: frame.captureTime)
        }
        var track = tracks[media] ?? Track(shift: start(of: frame, arrivedAt: now) - frame.timestamp.span)
        var position = frame.timestamp.span + track.shift
        guard position >= .zero else { return nil }
        // Times in a file may not stand still or go back.
        if let last = track.last { position = max(position, last + .milliseconds(1)) }
        track.last = position
        tracks[media] = track
        return position
    }

    private func start(of frame: EncodedFrame, arrivedAt now: Instant) -> TimeSpan {
        guard let origin else { return .zero }
        guard let capture = frame.captureTime, let first = origin.captureTime else { return now - origin.arrival }
        return capture - first
    }
}
