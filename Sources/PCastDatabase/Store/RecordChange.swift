public import PCastCore

/// A change to write to the database. Each change is idempotent, so it may be written again if it is unknown whether
/// the first write succeeded.
public enum RecordChange: Sendable {
    /// A publisher connected. The event `starting` is sent.
    case streamStarting(StreamRecord)
    /// The stream started. The event `started` is sent.
    case streamStarted(StreamID, at: WallTime)
    /// The stream is packaged for HLS, with its multivariant playlist at a path. The event `playlist` is sent.
    case streamPackaged(StreamID, at: WallTime, playlist: String)
    /// The stream ended. The event `ended` is sent.
    case streamEnded(StreamID, at: WallTime, reason: String, counts: ViewerCounts)
    /// The stream belongs to another session from now on, or to none.
    case streamMoved(StreamID, to: SessionID?)
    case viewingBegan(ViewingRecord)
    case viewingEnded(StreamID, at: WallTime, reason: String)
    case sessionOpened(SessionRecord)
    case sessionEnded(SessionID, at: WallTime)
    /// Something happened to a named stream. A notification is sent.
    case nameChanged(NameEventRecord)
    /// A message was sent to a room. It is stored if the room is.
    case roomMessage(RoomMessageRecord)
    /// The messages of rooms before a time are deleted; nil for all messages.
    case roomMessagesExpired(before: WallTime?)
    /// A recording changed.
    case recording(RecordingChange)
    /// The platform still runs. This change is written every two seconds, with the viewer counts of each live stream.
    case alive(at: WallTime, [StreamID: ViewerCounts])
}
