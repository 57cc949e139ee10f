/// One move of the playhead over cue points: all of them in one event, however far it went.
public struct CuePointPassage: Hashable, Sendable {
    public var previous: PlaybackProgress
    public var current: PlaybackProgress
    /// One at least.
    public var cuePoints: CuePointCollection

    public init(previous: PlaybackProgress, current: PlaybackProgress, cuePoints: CuePointCollection) {
        self.previous = previous
        self.current = current
        self.cuePoints = cuePoints
    }
}
