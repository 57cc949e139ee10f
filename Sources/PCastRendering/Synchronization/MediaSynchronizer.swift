package import PCastCore

/// Decides when each decoded frame is shown and each piece of audio is played. It reads no clock; the caller passes the
/// time.
///
/// Both tracks have the same delay from capture to presentation: the smallest at which the frames of both were recently
/// in time, including retransmission and jitter. The delay changes by a few percent of the elapsed time. Audio leads,
/// and video follows it. Presentation does not wait for an RTCP sender report: frames are presented as they come, and
/// converge once the capture times of both tracks are known. A change in one step would be visible and audible.
package struct MediaSynchronizer: Sendable {
    /// The synchronization of the tracks.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Present frames at once, and audio as evenly as it arrives.
        case immediate
        /// Present frames in sync with their audio.
        case lipSync
    }

    /// The decision about a frame.
    package enum Decision: Hashable, Sendable {
        /// Present it at this time, or at once if the time has passed.
        case present(at: Instant)

        /// It arrived after a stall, late by this time. Show a frame only if there is no newer one, and discard audio.
        case late(by: TimeSpan)
    }

    private let mode: Mode
    private var video = PlayoutTrack(.video)
    private var audio = PlayoutTrack(.audio)

    /// The minimum and maximum playout delay that the sender requests (WebRTC's playout-delay header extension).
    package var bounds = PlayoutBounds.unbounded

    /// The playout delay that the application requests; nil for the one that the path requires, within the bounds.
    package var override: TimeSpan?

    /// The presentation in sync with other viewers; nil for none.
    package var shared: SharedPlayout?

    /// Creates a synchronizer.
    package init(mode: Mode) { self.mode = mode }

    /// Decides about a frame that was just decoded.
    package mutating func scheduleFrame(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Decision {
        // The audio approaches the goal at its own rate, and frames follow the audio.
        let leader = isCompared && audio.isAlive(at: now) ? audio.applied : nil
        let audioFrame = isCompared && audio.isAlive(at: now) ? audio.needed : nil
        let decision = Self.decide(
            &video, &shared, captureTime: captureTime, timestamp: timestamp, other: audioFrame,
            limits: limits, at: now
        ) { needed in leader ?? needed }
        guard mode == .immediate, shared == nil, limits == .unbounded, case .present = decision else { return decision }
        return .present(at: now)
    }

    /// Decides about audio that was just decoded.
    package mutating func scheduleAudio(captureTime: WallTime?, timestamp: MediaTime, at now: Instant) -> Decision {
        let frames = isCompared && video.isAlive(at: now) ? video.needed : nil
        return Self.decide(
            &audio, &shared, captureTime: captureTime, timestamp: timestamp, other: frames, limits: limits, at: now
        ) { needed in max(needed, frames ?? needed) }
    }

    private var isCompared: Bool { mode == .lipSync && video.isAligned && audio.isAligned }

    private var limits: PlayoutBounds {
        self.override.map { .exactly($0) } ?? bounds
    }

    /// The current difference of the delays, audio minus video; nil before the capture times of both are known.
    package var holdDifference: TimeSpan? {
        guard video.isAligned, audio.isAligned, let frame = video.applied, let audioFrame = audio.applied else {
            return nil
        }
        return audioFrame - frame
    }

    /// The current playout delay beyond the minimum of path and decoder; nil before the first frame.
    package var playoutDelay: TimeSpan? {
        guard let applied = video.applied ?? audio.applied, let least = video.applied == nil ? audio.least : video.least
        else { return nil }
        return max(.zero, applied - least)
    }

    private static func decide(
        _ track: inout PlayoutTrack, _ shared: inout SharedPlayout?, captureTime: WallTime?, timestamp: MediaTime,
        other: TimeSpan?, limits: PlayoutBounds, at now: Instant, together: (_ needed: TimeSpan) -> TimeSpan
    ) -> Decision {
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

/// The bounds of the playout delay, beyond the minimum of path and decoder.
package struct PlayoutBounds: Hashable, Sendable {
    /// The smallest playout delay.
    package var minimum: TimeSpan
    /// The largest playout delay. Frames that arrive later are late.
    package var maximum: TimeSpan

    /// Creates bounds. A maximum below the minimum is raised to it.
    package init(minimum: TimeSpan = .zero, maximum: TimeSpan = .seconds(10)) {
        self.minimum = max(.zero, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// Returns bounds that allow exactly one playout delay.
    package static func exactly(_ delay: TimeSpan) -> PlayoutBounds { PlayoutBounds(minimum: delay, maximum: delay) }

    /// Bounds that allow every delay up to ten seconds.
    package static let unbounded = PlayoutBounds()

    /// Returns the nearest delay within the bounds, where `least` is the minimum of path and decoder.
    func bound(_ delay: TimeSpan, above least: TimeSpan) -> TimeSpan {
        min(max(delay, least + minimum), least + maximum)
    }
}
