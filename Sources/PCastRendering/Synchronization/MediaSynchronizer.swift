public import PCastMedia

/// Decides when each decoded picture is shown and each sound is played. It is told the time.
///
/// Both tracks are held from capture to presentation for one delay: the smallest at which nothing has lately come too
/// late on either. It grows at once when something does, and shrinks slowly. Nothing waits for a sender report: frames
/// are presented as they come, and slew together once both capture times are known (JB3).
public struct MediaSynchronizer: Sendable {
    /// What is asked of the presentation.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Pictures at once, sound as steadily as it comes.
        case immediate
        /// Pictures with their sound.
        case lipSync
    }

    /// What becomes of a frame.
    public enum Verdict: Hashable, Sendable {
        /// Present it at this instant; at once when that has passed.
        case present(at: Instant)

        /// It comes after a stall, this late: show it only when there is no newer one (JB2), and cut it when it is
        /// sound.
        case late(by: TimeSpan)
    }

    private let mode: Mode
    private var video = PlayoutTrack()
    private var audio = PlayoutTrack()

    public init(mode: Mode) { self.mode = mode }

    /// Decides about a picture that has just been decoded.
    public mutating func picture(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Verdict {
        let verdict = Self.decide(
            &video, captureTime: captureTime, timestamp: timestamp, target: sharedDelay, at: now)
        guard mode == .immediate, case .present = verdict else { return verdict }
        return .present(at: now)
    }

    /// Decides about a frame of sound that has just been decoded.
    public mutating func sound(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Verdict {
        Self.decide(&audio, captureTime: captureTime, timestamp: timestamp, target: sharedDelay, at: now)
    }

    /// How far apart the two are held at this moment, sound less picture; nil before capture times of both are known.
    public var holdDifference: TimeSpan? {
        guard video.isAligned, audio.isAligned, let picture = video.applied, let sound = audio.applied else {
            return nil
        }
        return sound - picture
    }

    /// What both tracks need; nil while they cannot be compared or need not be.
    private var sharedDelay: TimeSpan? {
        guard mode == .lipSync, video.isAligned, audio.isAligned, let picture = video.needed, let sound = audio.needed
        else { return nil }
        return max(picture, sound)
    }

    private static func decide(
        _ track: inout PlayoutTrack, captureTime: WallTime?, timestamp: MediaTime, target: TimeSpan?, at now: Instant
    ) -> Verdict {
        let position = track.position(captureTime: captureTime, timestamp: timestamp)
        let ready = TimeSpan.nanoseconds(now.nanoseconds)
        if let lateness = track.ready(after: ready - position, target: target, at: now) { return .late(by: lateness) }
        return .present(at: Instant(nanoseconds: (position + track.applied!).nanoseconds))
    }
}
