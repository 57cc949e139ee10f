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
    let capabilities: [String]
    let startTime: WallTime
    /// Where its publisher came from; nil where that is not known.
    let publisher: IPAddress?
    /// Which came first: newer streams have higher numbers.
    let ordinal: Int
    /// Who published it; see `Grant.publisher`.
    let owner: String?
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
            starting: startTime, publisher: owner)
    }

    /// One of the platform before, without a peer.
    init(_ record: StreamRecord, ordinal: Int) {
        id = record.id
        peer = PeerID(0)
        application = record.application
        session = record.session
        tags = record.tags
        capabilities = record.capabilities
        startTime = record.starting
        self.ordinal = ordinal
        publisher = nil
        owner = record.publisher
        counts = record.counts
    }

    init(
        id: StreamID, peer: PeerID, application: ApplicationID, session: SessionID?, tags: [String],
        capabilities: [String], startTime: WallTime, publisher: IPAddress?, ordinal: Int,
        owner: String?
    ) {
        self.id = id
        self.peer = peer
        self.application = application
        self.session = session
        self.tags = tags
        self.capabilities = capabilities
        self.startTime = startTime
        self.ordinal = ordinal
        self.publisher = publisher
        self.owner = owner
    }
}
