import PCastMedia
import PCastRecords
import PCastRelay

/// A stream that is being published.
struct LiveStream: Sendable {
    let id: StreamID
    var peer: PeerID
    let application: ApplicationID
    var session: SessionID?
    let tags: [String]
    /// Those of them that a viewer's token may require.
    let authorizingTags: [String]
    let capabilities: [String]
    let startTime: WallTime
    /// Where its publisher came from; nil where that is not known.
    var address: IPAddress?
    /// Which came first: newer streams have higher numbers.
    let ordinal: Int
    /// Who published it; see `Grant.publisher`.
    let publisher: String?
    var hasMedia = false
    /// Whether its end is in the journal already.
    var isEndNoted = false
    /// It was offered to take it, and nobody has answered yet: nobody can watch it.
    var isAwaitingAnswer = false
    /// What the answer has its publisher send, the picture's first.
    var codecs: [Codec] = []
    /// Who watched, so far.
    var counts = ViewerCounts()

    /// As it is recorded when it begins.
    var record: StreamRecord {
        StreamRecord(
            id: id, application: application, session: session, tags: tags, capabilities: capabilities,
            starting: startTime, publisher: publisher)
    }

    /// One of the platform before, without a peer.
    init(_ record: StreamRecord, ordinal: Int) {
        id = record.id
        peer = PeerID(0)
        application = record.application
        session = record.session
        let read = StreamTags(recorded: record.tags, publisher: record.publisher)
        (tags, authorizingTags) = (read.all, read.authorizing)
        capabilities = record.capabilities
        startTime = record.starting
        self.ordinal = ordinal
        publisher = record.publisher
        counts = record.counts
    }

    init(
        id: StreamID, peer: PeerID, application: ApplicationID, session: SessionID?, tags: StreamTags,
        capabilities: [String], startTime: WallTime, address: IPAddress?, ordinal: Int, publisher: String?
    ) {
        self.id = id
        self.peer = peer
        self.application = application
        self.session = session
        (self.tags, authorizingTags) = (tags.all, tags.authorizing)
        self.capabilities = capabilities
        self.startTime = startTime
        self.address = address
        self.ordinal = ordinal
        self.publisher = publisher
    }
}
