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
    /// Where its publisher came from; nil where that is not known.
    let publisher: IPAddress?
    /// Which came first: newer streams have higher numbers.
    let ordinal: Int
    var hasMedia = false
    /// Whether its end is in the journal already.
    var isEndNoted = false
    /// What the answer has its publisher send, the picture's first.
    var codecs: [Codec] = []
    /// Who watched, so far.
    var counts = ViewerCounts()

    /// As it is recorded when it begins.
    var record: StreamRecord {
        StreamRecord(
            id: id, application: application, session: session, tags: tags, capabilities: capabilities,
            starting: startTime)
    }
}
