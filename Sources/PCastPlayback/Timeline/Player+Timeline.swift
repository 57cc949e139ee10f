public import PCastCore

/// A cue point that a timeline released.
struct ReleasedCuePoint: Sendable {
    var cuePoint: CuePoint
    /// Whether it is reported as passed if the playhead is already after it, because its event was just added.
    var hasChanged: Bool
}

extension CuePoint {
    /// The prefix of the types of cue points that a timeline released.
    static let timelinePrefix = "timeline."

    /// Whether a timeline released the cue point.
    var isOfTimeline: Bool { type?.hasPrefix(Self.timelinePrefix) ?? false }
}

extension Player {
    /// Replaces cue points of a session. It has no effect if the player plays another session.
    func exchange(_ removed: [CuePoint], for added: [ReleasedCuePoint], of session: PlaybackSession) {
        guard !removed.isEmpty || !added.isEmpty else { return }
        change { state in
            guard state.session === session else { return }
            _ = changeSession(&state) { $0.exchange(removed, for: added) }
        }
    }
}

extension SessionState {
    /// Replaces cue points, and reports added ones that the playhead has already passed.
    fileprivate mutating func exchange(_ removed: [CuePoint], for added: [ReleasedCuePoint]) {
        guard lifecycle.isAlive else { return }
        for cuePoint in removed { cuePoints.cuePoints.remove(cuePoint) }
        for each in added { cuePoints.cuePoints.add(each.cuePoint) }
        let progress = cuePoints.progress
        let passed = added.filter { $0.hasChanged && $0.cuePoint.position <= progress }.map(\.cuePoint)
        guard !passed.isEmpty else { return }
        notify(
            .passedCuePoints(
                CuePointPassage(previous: progress, current: progress, cuePoints: CuePointCollection(passed))))
    }
}

extension PlaybackSession {
    /// Returns the wall-clock time at which the frame at a position was captured; nil if unknown.
    public func timecode(at position: Duration) -> WallTime? {
        withState { $0.pipeline }?.timecode(at: TimeSpan(position))
    }

    /// Returns the position of a wall-clock time, which may be outside the seekable range; nil if unknown.
    public func position(of timecode: WallTime) -> Duration? {
        withState { $0.pipeline }?.position(of: timecode)?.duration
    }
}

extension PlaybackPipeline {
    /// Returns the wall-clock time of a position, extrapolated from the playhead; nil if unknown.
    package func timecode(at position: TimeSpan) -> WallTime? {
        let playhead = playhead
        return playhead.timecode.map { $0 + (position - TimeSpan(playhead.position)) }
    }

    /// Returns the position of a wall-clock time, extrapolated from the playhead; nil if unknown, or if it exceeds 64
    /// bits of nanoseconds.
    package func position(of timecode: WallTime) -> TimeSpan? {
        let playhead = playhead
        guard let distance = playhead.timecode.flatMap({ timecode.span(since: $0) }) else { return nil }
        let (sum, overflows) = TimeSpan(playhead.position).nanoseconds.addingReportingOverflow(distance.nanoseconds)
        return overflows ? nil : TimeSpan(nanoseconds: sum)
    }
}

extension PlayheadClock {
    /// Returns the wall-clock time of a position; nil if there are no anchors.
    func timecode(at position: TimeSpan) -> WallTime? { anchors.wallTime(at: position) }

    /// Returns the position of a wall-clock time, within about 32 years around zero; nil if there are no anchors.
    func position(of timecode: WallTime) -> TimeSpan? {
        anchors.position(of: timecode, in: .seconds(-1_000_000_000) ... .seconds(1_000_000_000))
    }
}
