public import PCastCore

extension PlaybackSession {
    /// When the picture at a position was made; nil where nothing tells.
    public func timecode(at position: TimeSpan) -> WallTime? { withState { $0.pipeline }?.timecode(at: position) }

    /// Where the picture of a moment is, also where it is not any more, or not yet; nil where nothing tells.
    public func position(of timecode: WallTime) -> TimeSpan? { withState { $0.pipeline }?.position(of: timecode) }
}

extension PlaybackPipeline {
    /// By the playhead, as time goes.
    public func timecode(at position: TimeSpan) -> WallTime? {
        let playhead = playhead
        return playhead.timecode.map { $0 + (position - playhead.position) }
    }

    /// By the playhead, as time goes.
    public func position(of timecode: WallTime) -> TimeSpan? {
        let playhead = playhead
        return playhead.timecode.map { playhead.position + (timecode - $0) }
    }
}

extension PlayheadClock {
    func timecode(at position: TimeSpan) -> WallTime? { anchors.wallTime(at: position) }

    /// Within thirty years.
    func position(of timecode: WallTime) -> TimeSpan? {
        anchors.position(of: timecode, in: TimeSpan(boundedSeconds: -1e9)...TimeSpan(boundedSeconds: 1e9))
    }
}
