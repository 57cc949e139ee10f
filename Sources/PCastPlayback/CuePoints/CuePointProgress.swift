import PCastCore

/// Follows the playhead of one session over its cue points.
public struct CuePointProgress: Sendable {
    /// May change at any time. What was passed already is not passed again because of it.
    public var cuePoints: CuePointCollection
    /// Where the playhead was last.
    public private(set) var progress: PlaybackProgress
    private var epoch = PlayheadEpoch()

    /// - Parameter progress: Where it begins; who joins a live programme in the middle passes nothing of before.
    public init(_ cuePoints: CuePointCollection, from progress: PlaybackProgress = .beforeBeginning) {
        self.cuePoints = cuePoints
        self.progress = progress
    }

    /// Follows the playhead: in play, or in one leap when a seek has landed. While it is on its way nothing is passed, and an
    /// earlier epoch's playhead is not looked at.
    public mutating func follow(_ playhead: Playhead) -> CuePointPassage? {
        guard playhead.epoch >= epoch, !playhead.isSeeking else { return nil }
        epoch = playhead.epoch
        return move(to: playhead.position)
    }

    /// The playhead is at this position now, as who looks at epochs says.
    mutating func move(to position: TimeSpan) -> CuePointPassage? { move(to: .at(position)) }

    /// Another round begins at the beginning, where nothing was passed yet.
    mutating func restart() { progress = .beforeBeginning }

    /// The item was played through its end.
    public mutating func finish() -> CuePointPassage? { move(to: .behindEnd) }

    private mutating func move(to current: PlaybackProgress) -> CuePointPassage? {
        let previous = progress
        progress = current
        let passed = cuePoints.passed(from: previous, to: current)
        return passed.isEmpty ? nil : CuePointPassage(previous: previous, current: current, cuePoints: passed)
    }
}
