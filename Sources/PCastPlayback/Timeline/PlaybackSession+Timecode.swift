public import PCastCore

extension PlaybackSession {
    /// Returns the wall-clock time at which the frame at a position was captured; nil if unknown.
    public func timecode(at position: TimeSpan) -> WallTime? { withState { $0.pipeline }?.timecode(at: position) }

    /// Returns the position of a wall-clock time, which may be outside the seekable range; nil if unknown.
    public func position(of timecode: WallTime) -> TimeSpan? { withState { $0.pipeline }?.position(of: timecode) }
}

extension PlaybackPipeline {
    /// Returns the wall-clock time of a position, extrapolated from the playhead; nil if unknown.
    public func timecode(at position: TimeSpan) -> WallTime? {
        let playhead = playhead
        return playhead.timecode.map { $0 + (position - playhead.position) }
    }

    /// Returns the position of a wall-clock time, extrapolated from the playhead; nil if unknown.
    public func position(of timecode: WallTime) -> TimeSpan? {
        let playhead = playhead
        return playhead.timecode.map { playhead.position + (timecode - $0) }
    }
}

extension PlayheadClock {
    /// Returns the wall-clock time of a position; nil if there are no anchors.
    func timecode(at position: TimeSpan) -> WallTime? { anchors.wallTime(at: position) }

    /// Returns the position of a wall-clock time, within about 32 years around zero; nil if there are no anchors.
    func position(of timecode: WallTime) -> TimeSpan? {
        anchors.position(of: timecode, in: TimeSpan(boundedSeconds: -1e9)...TimeSpan(boundedSeconds: 1e9))
    }
}
