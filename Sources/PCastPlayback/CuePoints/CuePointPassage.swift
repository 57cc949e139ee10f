/// A move of the playhead over one or more cue points. A move is one event, whatever its distance.
public struct CuePointPassage: Hashable, Sendable {
    /// The progress before the move.
    public var previous: PlaybackProgress
    /// The progress after the move.
    public var current: PlaybackProgress
    /// The cue points that the move passed. There is at least one.
    public var cuePoints: CuePointCollection

    /// Creates a passage.
    public init(previous: PlaybackProgress, current: PlaybackProgress, cuePoints: CuePointCollection) {
        self.previous = previous
        self.current = current
        self.cuePoints = cuePoints
    }
}
