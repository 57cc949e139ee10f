public import PCastMedia

/// Something that happened, to be recorded. What is recorded already is not recorded again, so that a change may be
/// written a second time when it is not known whether the first succeeded.
public enum RecordChange: Sendable {
    /// A publisher came: the event `starting`.
    case streamStarting(StreamRecord)
    /// It was let in: the event `started`.
    case streamStarted(StreamID, at: WallTime)
    /// The event `ended`.
    case streamEnded(StreamID, at: WallTime, reason: String, counts: ViewerCounts)
    /// Another session publishes it from now on, or none.
    case streamMoved(StreamID, to: SessionID?)
    case viewingBegan(ViewingRecord)
    case viewingEnded(StreamID, at: WallTime, reason: String)
    case sessionOpened(SessionRecord)
    case sessionEnded(SessionID, at: WallTime)
    /// The platform runs, and these are the streams' viewers so far.
    case alive(at: WallTime, [StreamID: ViewerCounts])
}
