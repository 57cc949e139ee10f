import PCastMedia
import PCastRecords
import PCastRelay

/// A stream that is being published.
struct LiveStream: Sendable {
    let id: StreamID
    let peer: PeerID
    let application: ApplicationID
    let session: SessionID?
    let tags: [String]
    let capabilities: [String]
    let startTime: WallTime
    /// Which came first: newer streams have higher numbers.
    let ordinal: Int
    var hasMedia = false
    /// Whether its end is in the journal already.
    var isEndNoted = false
    /// It was offered to take it, and nobody has answered yet: nobody can watch it.
    var isAwaitingAnswer = false
    /// Who watched, so far.
    var counts = ViewerCounts()

    /// As it is recorded when it begins.
    var record: StreamRecord {
        StreamRecord(
            id: id, application: application, session: session, tags: tags, capabilities: capabilities,
            starting: startTime)
    }
}
