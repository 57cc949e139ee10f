public import PCastMedia

/// Decides when each decoded picture is shown and each sound is played. It is told the time.
///
/// Both tracks are held from capture to presentation for one delay: the smallest at which frames have lately been in time
/// on either, repair and jitter included. It moves by a few per cent of the time that passes. Sound leads and pictures
/// follow it. Nothing waits for a sender report: frames are presented as they come, and slew together once both capture
/// times are known (JB3).
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
    private var video = PlayoutTrack(.pictures)
    private var audio = PlayoutTrack(.sound)

    /// How long frames wait at least and at most, as the sender asks (WebRTC's playout-delay header extension).
    public var bounds = PlayoutBounds.unbounded

    /// How long they wait instead, as whoever watches asks; nil for what the path needs within the bounds.
    public var override: TimeSpan?

    /// Whether this and others show the same at the same time; see `SharedPlayout`.
    public var shared: SharedPlayout?

    public init(mode: Mode) { self.mode = mode }

    /// Decides about a picture that has just been decoded.
    public mutating func picture(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Verdict {
        // The sound comes to the goal by its own pace; pictures are where it is.
        let leader = isCompared && audio.isAlive(at: now) ? audio.applied : nil
        let sound = isCompared && audio.isAlive(at: now) ? audio.needed : nil
        let verdict = Self.decide(
            &video, &shared, captureTime: captureTime, timestamp: timestamp, other: sound,
            limits: limits, at: now
        ) { needed in leader ?? needed }
        guard mode == .immediate, shared == nil, limits == .unbounded, case .present = verdict else { return verdict }
        return .present(at: now)
    }

    /// Decides about a frame of sound that has just been decoded.
    public mutating func sound(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Verdict {
        let pictures = isCompared && video.isAlive(at: now) ? video.needed : nil
        return Self.decide(
            &audio, &shared, captureTime: captureTime, timestamp: timestamp, other: pictures, limits: limits, at: now
        ) { needed in max(needed, pictures ?? needed) }
    }

    private var isCompared: Bool { mode == .lipSync && video.isAligned && audio.isAligned }

    private var limits: PlayoutBounds {
        self.override.map { .exactly($0) } ?? bounds
    }

    /// How far apart the two are held at this moment, sound less picture; nil before capture times of both are known.
    public var holdDifference: TimeSpan? {
        guard video.isAligned, audio.isAligned, let picture = video.applied, let sound = audio.applied else {
            return nil
        }
        return sound - picture
    }

    /// How long frames wait at this moment beyond what path and decoder take at least; nil before the first.
    public var playoutDelay: TimeSpan? {
        guard let applied = video.applied ?? audio.applied, let least = video.applied == nil ? audio.least : video.least
        else { return nil }
        return max(.zero, applied - least)
    }

    private static func decide(
        _ track: inout PlayoutTrack, _ shared: inout SharedPlayout?, captureTime: WallTime?, timestamp: MediaTime,
        other: TimeSpan?, limits: PlayoutBounds, at now: Instant, together: (_ needed: TimeSpan) -> TimeSpan
    ) -> Verdict {
        let position = track.position(captureTime: captureTime, timestamp: timestamp)
        let ready = TimeSpan.nanoseconds(now.nanoseconds)
        let (isAligned, least) = (track.isAligned, track.least)
        let lateness = track.ready(after: ready - position, at: now) { needed in
            if isAligned, let held = shared?.hold(needed: max(needed, other ?? needed), at: now) {
                return .shared(held)
            }
            let wanted = together(needed)
            let bounded = limits.bound(wanted, above: least ?? needed)
            return bounded == wanted ? .needed(wanted) : .asked(bounded)
        }
        if let lateness { return .late(by: lateness) }
        return .present(at: Instant(nanoseconds: (position + track.applied!).nanoseconds))
    }
}
