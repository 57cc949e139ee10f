import PCastCore

/// A cue point that is there from now on.
struct ReleasedCuePoint: Sendable {
    var cuePoint: CuePoint
    /// Whether it is told to have been passed, if the playhead is behind it: it came to be there after the playhead did.
    var isNews: Bool
}

extension CuePoint {
    /// What the types of cue points begin with that a timeline has released.
    static let timelinePrefix = "timeline."

    var isOfTimeline: Bool { type?.hasPrefix(Self.timelinePrefix) ?? false }
}

extension Player {
    /// Puts cue points of a session in the place of others.
    func exchange(_ removed: [CuePoint], for added: [ReleasedCuePoint], of session: PlaybackSession) {
        guard !removed.isEmpty || !added.isEmpty else { return }
        change { state in
            guard state.session === session else { return }
            _ = changeSession(&state) { $0.exchange(removed, for: added) }
        }
    }
}

extension SessionState {
    fileprivate mutating func exchange(_ removed: [CuePoint], for added: [ReleasedCuePoint]) {
        guard lifecycle.isAlive else { return }
        for cuePoint in removed { cuePoints.cuePoints.remove(cuePoint) }
        for each in added { cuePoints.cuePoints.add(each.cuePoint) }
        let progress = cuePoints.progress
        let passed = added.filter { $0.isNews && $0.cuePoint.position <= progress }.map(\.cuePoint)
        guard !passed.isEmpty else { return }
        tell(
            .passedCuePoints(
                CuePointPassage(previous: progress, current: progress, cuePoints: CuePointCollection(passed))))
    }
}
