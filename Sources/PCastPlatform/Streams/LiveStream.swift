import PCastCore
import PCastDatabase
import PCastSFU

/// A published stream.
struct LiveStream: Sendable {
    let id: StreamID
    var peer: PeerID
    let application: ApplicationID
    var session: SessionID?
    let tags: [String]
    /// The tags that a subscriber's token may require.
    let authorizingTags: [String]
    let capabilities: [String]
    let startTime: WallTime
    /// The publisher's address; nil if unknown.
    var address: IPAddress?
    /// The order of creation: newer streams have higher numbers.
    let ordinal: Int
    /// The owner; see `Principal.publisher`.
    let publisher: String?
    var hasMedia = false
    /// Whether the end is in the database queue already.
    var isEndNoted = false
    /// Whether the platform's offer is not answered yet, so that nobody can subscribe.
    var isAwaitingAnswer = false
    /// The codecs that the publisher sends according to the answer, video first.
    var codecs: [Codec] = []
    /// The numbers of subscribers so far.
    var counts = ViewerCounts()
    /// The captions that viewers receive.
    var captions = CaptionTrack()

    /// The database record at the beginning of the stream.
    var record: StreamRecord {
        StreamRecord(
            id: id, application: application, session: session, tags: tags, capabilities: capabilities,
            starting: startTime, publisher: publisher)
    }

    /// Creates a stream of the previous platform process, which has no peer.
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
