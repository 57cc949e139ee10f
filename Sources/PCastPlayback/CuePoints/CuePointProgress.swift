import PCastCore

/// Detects the cue points that the playhead of one session passes.
public struct CuePointProgress: Sendable {
    /// The cue points. A change does not report cue points at positions that the playhead has already passed.
    public var cuePoints: CuePointCollection
    /// The last progress of the playhead.
    public private(set) var progress: PlaybackProgress
    private var epoch = PlayheadEpoch()

    /// Creates a detector. It reports no cue points at or before `progress`, which is the position where a viewer joins
    /// a live stream.
    public init(_ cuePoints: CuePointCollection, from progress: PlaybackProgress = .beforeBeginning) {
        self.cuePoints = cuePoints
        self.progress = progress
    }

    /// Moves to the playhead, by playback or by a completed seek, and returns the cue points that this passed. Returns
    /// nil if there are none, while a seek is in progress, and for a playhead of an earlier epoch.
    public mutating func follow(_ playhead: Playhead) -> CuePointPassage? {
        guard playhead.epoch >= epoch, !playhead.isSeeking else { return nil }
        epoch = playhead.epoch
        return move(to: playhead.position)
    }

    /// Moves to a position and returns the cue points that this passed; nil if there are none. The caller has checked
    /// the epoch.
    mutating func move(to position: TimeSpan) -> CuePointPassage? { move(to: .at(position)) }

    /// Returns to the progress before the beginning, because the item restarts.
    mutating func restart() { progress = .beforeBeginning }

    /// Moves after the end of the item and returns the cue points that this passed; nil if there are none.
    public mutating func finish() -> CuePointPassage? { move(to: .behindEnd) }

    /// Moves to a progress and returns the cue points that this passed; nil if there are none.
    private mutating func move(to current: PlaybackProgress) -> CuePointPassage? {
        let previous = progress
        progress = current
        let passed = cuePoints.passed(from: previous, to: current)
        return passed.isEmpty ? nil : CuePointPassage(previous: previous, current: current, cuePoints: passed)
    }
}
