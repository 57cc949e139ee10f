import PCastCore
import PCastDatabase
import PCastSFU

/// A published stream.
struct LiveStream: Sendable {
    let id: StreamID
    var peer: PeerID
    let application: ApplicationID
    var session: SessionID?
    private(set) var tags: [String]
    /// The tags that a subscriber's token may require.
    private(set) var authorizingTags: [String]
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
    var isEndRecorded = false
    /// Whether the platform's offer is not answered yet, so that nobody can subscribe.
    var isAwaitingAnswer = false
    /// Whether the host has received the event of the start.
    var isAnnounced = false
    /// The codecs that the publisher sends according to the answer, video first.
    var codecs: [Codec] = []
    /// The audio tracks that viewers by HLS can choose, the default first; empty if the publisher did not describe its audio.
    var audioTracks: [AudioTrackDescription] = []
    /// The protocol of a publisher that does not use WebRTC; nil for WebRTC.
    var ingestProtocol: IngestProtocol?
    /// The properties of the media that cost viewers latency, or that they cannot decode, each once.
    var findings: [IngestFinding] = []
    /// The relation to a declared stream.
    var place = NameRelation.independent
    /// The identifiers of the nodes from which the stream is pulled, the origin last; empty for a publisher of this node.
    var nodes: [String] = []
    /// The declared name of a pulled stream at its origin; nil if it has none.
    var originName: String?
    /// The window of a pulled stream that is packaged at its origin; nil if it is not.
    var originWindow: NodeWindow?
    /// The names other than the identifier by which viewers requested a pulled stream.
    var requestedNames: Set<StreamID> = []
    /// The numbers of subscribers so far.
    var counts = ViewerCounts()
    /// The captions that viewers receive.
    var captions = CaptionTrack()
    /// The streams of channels that have the media of this one, because its publisher presents them.
    var channelStreams: Set<StreamID> = []

    /// The database record at the beginning of the stream.
    var record: StreamRecord {
        StreamRecord(
            id: id, application: application, session: session, tags: tags, capabilities: capabilities,
            starting: startTime, publisher: publisher)
    }

    /// Whether the publisher is another node. The origin records the stream and notifies the application's backend.
    var isPulled: Bool { !nodes.isEmpty }

    /// Changes the tags of a pulled stream, which continues from another origin.
    mutating func setTags(_ tags: StreamTags) { (self.tags, authorizingTags) = (tags.all, tags.authorizing) }

    /// Returns what the publisher should change, given its data quality.
    func warnings(_ quality: DataQuality?) -> [IngestFinding] {
        quality?.reason == .uploadLimited ? findings + [.weakUplink] : findings
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

/// The relation of a stream to a declared stream or a channel.
enum NameRelation: Hashable, Sendable {
    /// The stream has its own viewers.
    case independent
    /// The stream is a publisher of a name.
    case publisher(of: String, as: NamedStreamMachine.Role)
    /// The stream is that of the name, which viewers receive.
    case named(String)
    /// The stream is that of the channel with an identifier. Viewers of the channel's name receive it.
    case channel(String)
    /// The stream is the second codec of another one, whose viewers receive it if they do not decode the first codec.
    case secondCodec(of: StreamID)

    /// Whether the stream is a publisher of a name or the second codec of a stream, so that viewers do not request it.
    var isPublisher: Bool {
        switch self {
        case .publisher, .secondCodec: true
        case .independent, .named, .channel: false
        }
    }

    var isChannel: Bool { if case .channel = self { true } else { false } }
}

/// A protocol of publishers other than WebRTC.
enum IngestProtocol: String, Sendable {
    /// The stream of a declared name or of a channel, which has the media of its publishers.
    case name
    case rtmp
    case srt

    /// The name for logs.
    var name: String { rawValue.uppercased() }
}

/// The newest captions of one stream, by the platform's capture clock, and the publisher's rate limit.
struct CaptionTrack: Sendable {
    /// The rate of cues, and the number of cues that may be sent at once.
    static let perSecond: Int64 = 10
    static let burst: Int64 = 50
    /// The time for which cues are kept after their end, for viewers that join and whose frames are that old.
    static let retention = TimeSpan.seconds(15)

    private var gate = CaptionGate()
    /// The time at which the bucket of the rate limit is full (generic cell rate algorithm, ITU-T I.371).
    private var full = Instant(nanoseconds: .min)

    /// Counts cues that a publisher sends.
    ///
    /// - Throws: ``APIError`` with the kind `rateLimited`, in which case none of them is counted.
    mutating func count(_ cues: Int, at now: Instant) throws(APIError) {
        let interval = TimeSpan.seconds(1) / Self.perSecond
        let base = max(full, now)
        let wait = base - now + interval * (Int64(cues) - Self.burst)
        guard wait <= .zero else {
            throw APIError(
                .rateLimited, "A stream has \(Self.perSecond) captions per second: wait \(wait).", retryAfter: wait)
        }
        full = base + interval * Int64(cues)
    }

    /// Adds cues. If there are more than ``CaptionGate/capacity``, the earliest are removed.
    mutating func add(_ cues: [CaptionCue], at now: WallTime) {
        gate.removeAll(endedBefore: now - Self.retention)
        for cue in cues { gate.add(cue) }
    }

    /// Returns the cues that are shown now or later, or ended recently.
    func current(at now: WallTime) -> [CaptionCue] { gate.cues.filter { $0.end >= now - Self.retention } }
}

/// The tags of a stream: all tags, and those that give subscribers access.
///
/// A subscriber's token may require a tag. If clients could choose such a tag themselves, their stream could appear in
/// another channel. Therefore only tags that the publisher's token applies give access.
struct StreamTags: Hashable, Sendable {
    /// All tags, as in reports and notifications.
    let all: [String]
    /// The tags that a subscriber's token may require.
    let authorizing: [String]

    /// The prefix of the tag whose stream is published to a declared name.
    static let namePrefix = "name:"

    /// The name to which the stream is published; nil for none. Only tokens, and clients that need none, can give it.
    var name: String? {
        authorizing.first { $0.utf8.starts(with: Self.namePrefix.utf8) }
            .map { String(Substring($0.utf8.dropFirst(Self.namePrefix.utf8.count))) }
    }

    /// The prefixes of tags that assign a stream to a channel or room. They are valid only in tokens.
    private static let reserved = ["channelId:", "channelAlias:", "roomId:", "roomAlias:"]

    /// Creates the tags of a declared stream.
    init(ofName name: String) { (all, authorizing) = ([Self.namePrefix + name], [Self.namePrefix + name]) }

    /// Creates the tags of the stream of a channel: those of the channel, which give subscribers access, and those of the
    /// presenter with whose tracks it begins.
    init(ofChannel tags: [String], presenter: [String]) {
        authorizing = tags
        all = tags + presenter.filter { tag in !Self.isReserved(tag) && !tag.utf8.starts(with: Self.namePrefix.utf8) }
    }

    /// Creates the tags of a stream of another node.
    init(ofNode tags: [String], authorizing: [String]) { (all, self.authorizing) = (tags, authorizing) }

    /// Creates the tags of a new stream from those that the client requests and those of its token.
    init(own: [String], _ principal: Principal) {
        // A client of this host that needs no token has all permissions.
        guard principal.token != nil else {
            (all, authorizing) = (own + principal.tags, own + principal.tags)
            return
        }
        all = own.filter { tag in !Self.isReserved(tag) } + principal.tags
        authorizing = principal.tags
    }

    /// Creates the tags of a stream in the database. `publisher`, see `Principal.publisher`, contains the tags of its
    /// token.
    init(recorded tags: [String], publisher: String?) {
        all = tags
        if publisher == Principal.localPublisher {
            authorizing = tags
        } else {
            let applied = publisher.flatMap { Principal.appliedTags(of: $0) } ?? []
            authorizing = tags.filter { applied.contains($0) }
        }
    }

    /// By bytes: a combining character behind the colon makes another character of both.
    private static func isReserved(_ tag: String) -> Bool { reserved.contains { tag.utf8.starts(with: $0.utf8) } }
}

/// The numbers of subscribers, in total and per stream.
struct SubscriberCounter: Sendable {
    private(set) var count = 0
    private var counts: [StreamID: Int] = [:]

    func count(of stream: StreamID) -> Int { counts[stream] ?? 0 }

    mutating func enter(_ stream: StreamID) {
        count += 1
        counts[stream, default: 0] += 1
    }

    mutating func leave(_ stream: StreamID) {
        precondition(count > 0, "a count must not be decremented below zero")
        count -= 1
        counts[stream] = counts[stream].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}
