import PCastCore

/// Computes the position of each frame in a recording. It reads no clock; the caller passes the time.
///
/// The timestamps of a track are even but start anywhere. The first frame of a track is placed by its capture time if
/// it is known for both tracks, otherwise by its arrival. The others follow by the track's timestamps.
struct RecordingTimeline {
    private struct Origin {
        var arrival: Instant
        var captureTime: WallTime?
    }

    private struct Track {
        /// The offset from the track's timestamps to positions.
        var shift: TimeSpan
        var last: TimeSpan?
    }

    /// Whether nothing is recorded before the first key frame.
    private let waitsForKeyFrame: Bool
    private var origin: Origin?
    private var tracks: [MediaType: Track] = [:]

    init(hasVideo: Bool) { waitsForKeyFrame = hasVideo }

    /// Returns the position of a frame since the start; nil if it precedes the start.
    mutating func position(of frame: EncodedFrame, arrivedAt now: Instant) -> TimeSpan? {
        let media = frame.codec.mediaType
        if origin == nil {
            guard !waitsForKeyFrame || media == .video && frame.isKeyFrame else { return nil }
            origin = Origin(arrival: now, captureTime: frame.captureTime)
        }
        var track = tracks[media] ?? Track(shift: start(of: frame, arrivedAt: now) - frame.timestamp.span)
        var position = frame.timestamp.span + track.shift
        guard position >= .zero else { return nil }
        // Positions in a file must increase.
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
