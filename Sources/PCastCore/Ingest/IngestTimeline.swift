/// Assigns times to the frames of an encoder: media times that never go back within a track, and capture times by the
/// clock of this process.
///
/// Encoders may restart their clock, wrap it, or let it jump. All tracks of an encoder follow one clock, but their frames
/// arrive interleaved. The first track that jumps determines how the stream continues, and the others follow it when
/// they jump, too. Audio and video thus stay in step.
package struct IngestTimeline: Sendable {
    /// The times of a frame.
    package struct Placement: Hashable, Sendable {
        /// The duration to add to decoding and presentation times. It gives media times that begin at zero.
        package let shift: TimeSpan
        /// The time of this process at which the media time was zero.
        fileprivate let origin: TimeSpan

        /// Returns the media time of a decoding or presentation time.
        package func mediaTime(of time: TimeSpan) -> TimeSpan { time + shift }

        /// Returns the time of this process at which a frame with a presentation time was captured. The encoder's own
        /// delay is unknown, and does not count.
        package func capture(of presentationTime: TimeSpan) -> Instant {
            Instant(nanoseconds: (mediaTime(of: presentationTime) + origin).nanoseconds)
        }
    }

    private struct Track {
        let number: Int
        var shift: TimeSpan
        /// The media time of the last frame.
        var last: TimeSpan
    }

    /// The largest step between frames of a track that is not a jump of the clock.
    package static let maximumStep = TimeSpan.seconds(10)
    /// The maximum number of tracks. Further ones share the state of the last.
    package static let maximumTrackCount = 64
    /// A media time beyond it restarts at zero. Only jumps reach it.
    private static let maximum = TimeSpan(nanoseconds: 1 << 60)
    /// The part of the elapsed time by which the origin follows a clock that is slower than that of this process.
    private static let drift: Int64 = 1_000

    private var tracks: [Track] = []
    /// The shift of the track that jumped last.
    private var shift: TimeSpan?
    /// The media time and the arrival of the last frame of any track.
    private var last: (time: TimeSpan, arrival: Instant)?
    private var origin: TimeSpan?

    /// The times of media by the encoder's clock at present; nil before the first frame.
    package var current: Placement? {
        guard let shift, let origin else { return nil }
        return Placement(shift: shift, origin: origin)
    }

    /// Creates a timeline without frames.
    package init() {}

    /// Places a frame in time.
    ///
    /// - Parameters:
    ///   - decodingTime: The decoding time by the encoder's clock, within 70 years of zero.
    ///   - number: The number of the frame's track.
    ///   - now: The time of arrival.
    /// - Returns: The times of the frame.
    package mutating func place(_ decodingTime: TimeSpan, track number: Int, at now: Instant) -> Placement {
        let index = index(of: number, decodingTime)
        let time = continued(index, decodingTime, at: now)
        tracks[index].last = time
        follow(time, at: now)
        last = (max(time, last?.time ?? time), now)
        return Placement(shift: tracks[index].shift, origin: origin ?? .zero)
    }

    private mutating func index(of number: Int, _ decodingTime: TimeSpan) -> Int {
        if let index = tracks.firstIndex(where: { $0.number == number }) { return index }
        guard tracks.count < Self.maximumTrackCount else { return tracks.count - 1 }
        let current = shift ?? .zero - decodingTime
        if shift == nil { shift = current }
        // A track may begin later or earlier than the others. If it is far away, it has a clock of its own.
        let reference = last?.time ?? decodingTime + current
        let isFar = (decodingTime + current - reference).magnitude > Self.maximumStep
        let own = isFar ? reference - decodingTime : current
        tracks.append(Track(number: number, shift: own, last: decodingTime + own))
        return tracks.count - 1
    }

    /// Returns the media time of a frame, and changes the shift of its track if the clock has jumped.
    private mutating func continued(_ index: Int, _ decodingTime: TimeSpan, at now: Instant) -> TimeSpan {
        let before = tracks[index].last
        func fits(_ shift: TimeSpan) -> Bool {
            let step = decodingTime + shift - before
            return step >= .zero && step <= Self.maximumStep && decodingTime + shift <= Self.maximum
        }
        if fits(tracks[index].shift) { return decodingTime + tracks[index].shift }
        // Another track has jumped before.
        if let shift, fits(shift) {
            tracks[index].shift = shift
            return decodingTime + shift
        }
        let newest = last ?? (before, now)
        let elapsed = min(max(now - newest.arrival, .zero), Self.maximumStep)
        var time = max(newest.time + elapsed, before)
        if time > Self.maximum {
            // The times of all tracks restart.
            time = .zero
            for track in tracks.indices { tracks[track].last = .zero }
            (last, origin) = (nil, nil)
        }
        tracks[index].shift = time - decodingTime
        shift = tracks[index].shift
        return time
    }

    /// Follows the encoder's clock. The network only adds delay, so the frame with the least delay is the most accurate.
    private mutating func follow(_ time: TimeSpan, at now: Instant) {
        let sample = TimeSpan(nanoseconds: now.nanoseconds) - time
        guard let origin, let last else { return self.origin = sample }
        if sample <= origin {
            self.origin = sample
        } else {
            let elapsed = max(now - last.arrival, .zero)
            self.origin = origin + min(sample - origin, elapsed / Self.drift)
        }
    }
}
