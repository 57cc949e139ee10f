import PCastCore
import PCastRTP
import PCastWebRTC

/// A publisher and its stream, or the replica of a stream whose publisher is a peer of another shard.
struct PublishedStream: ~Copyable {
    let id: StreamID
    let peer: PeerID
    /// The publisher's transport; nil in a replica.
    var transport: SecureTransport?
    /// The shard that has the publisher; nil if this one has it.
    let home: Int?
    /// The replicas of the stream on other shards.
    var replicas: [StreamReplica] = []
    /// For a replica, the time of the last message from the home shard.
    var lastUpdate: Instant?
    var routes: PeerKeys
    /// The media as negotiated with the publisher.
    let media: [NegotiatedMedia]
    var receiver: MediaReceiver
    var layers: VideoLayers
    var audio: PublishedTrack
    var clock = PublisherClock()
    /// The time from capture at which all viewers show the same frame; nil if each viewer has its own delay.
    let playout: TimeSpan?
    var deadlines: PeerDeadlines
    /// The layers in the order of their quality, as of the last review.
    var ladder = LayerLadder()
    /// The ladder of the review before.
    var formerLadder = LayerLadder()
    var nextReview: Instant?
    var quality = StreamQuality()

    /// The indices of the viewers, in the order in which they are served.
    var viewers: [Int] = []
    /// The number of viewers that count in statistics.
    var countedViewers = 0
    /// The viewer to be served next in this round, and the first of the round. Each round begins with another viewer.
    var nextViewer = 0
    var firstViewer = 0

    var hasPackets = false
    /// The time until which the rest of a frame is awaited; nil if none is.
    var gathersUntil: Instant?
    var hasControl = false
    var hasMedia = false
    var isAway = false
    var isEnding = false
    var scheduled: Instant?

    init(
        id: StreamID, peer: PeerID, transport: consuming SecureTransport, routes: PeerKeys,
        session: NegotiatedSession, terms: PeerOptions, began: Instant, reporterSSRC: UInt32, cname: String
    ) {
        self.init(
            id: id, peer: peer, transport: transport, home: nil, routes: routes, media: session.media,
            playout: terms.playout, deadlines: PeerDeadlines(terms, began: began),
            receiver: MediaReceiver(
                session.media, reporterSSRC: reporterSSRC, cname: cname, measuresRoundTrip: true))
    }

    private init(
        id: StreamID, peer: PeerID, transport: consuming SecureTransport?, home: Int?, routes: PeerKeys,
        media: [NegotiatedMedia], playout: TimeSpan?, deadlines: PeerDeadlines, receiver: MediaReceiver
    ) {
        self.id = id
        self.peer = peer
        self.transport = transport
        self.home = home
        self.routes = routes
        self.media = media
        self.playout = playout
        self.deadlines = deadlines
        self.receiver = receiver
        let layers = receiver.layers
        self.layers = VideoLayers(count: max(layers.count, 1)) { index in
            PublishedTrack(.video, layers.isEmpty ? nil : layers[index].media)
        }
        audio = PublishedTrack(.audio, receiver.audio?.media)
        for index in layers.indices {
            ladder.insert(LayerLadder.Rung(layer: index, bitrate: .kilobits(0), dimensions: nil, isAvailable: true))
        }
    }

    /// Creates a replica from a snapshot of the home shard.
    init(_ snapshot: StreamSnapshot, home: Int, at now: Instant) {
        self.init(
            id: snapshot.id, peer: snapshot.publisher, transport: nil, home: home, routes: PeerKeys(),
            media: snapshot.media, playout: snapshot.playout, deadlines: PeerDeadlines(PeerOptions(), began: now),
            receiver: snapshot.receiver)
        receiver.follow(snapshot.receiver.pausedTracks)
        clock = snapshot.clock
        ladder = snapshot.ladder
        quality = snapshot.quality
        quality.departed = StreamMetrics.Counts()
        quality.nextLook = now + StreamQuality.interval
        quality.nextLinksLook = now + StreamQuality.linksInterval
        for index in layers.indices { layers[index].begin(as: snapshot.layers[index]) }
        audio.begin(as: snapshot.audio)
        // The home shard has connected the publisher and reported its first packet.
        hasMedia = true
        lastUpdate = now
    }

    /// The snapshot from which another shard creates a replica.
    var snapshot: StreamSnapshot {
        var layers: [TrackSnapshot] = []
        for index in self.layers.indices { layers.append(self.layers[index].snapshot) }
        return StreamSnapshot(
            id: id, publisher: peer, media: media, playout: playout, receiver: receiver, clock: clock, ladder: ladder,
            quality: quality, layers: layers, audio: audio.snapshot)
    }

    /// Adds a path and returns the paths that are no longer valid.
    mutating func rememberPath(_ path: NetworkPath) -> [NetworkPath] {
        routes.add(path: path)
        var routes = routes
        let stale = routes.takeStalePaths { isValidated($0) }
        self.routes = routes
        return stale
    }

    /// The maximum bit rate that is sent to a viewer, with a margin for variations.
    var desiredBitrate: Bitrate {
        mutating get {
            let video = ladder.rungs.reduce(0) { max($0, $1.bitrate.bitsPerSecond) }
            let measured = video + (audio.bitrate?.bitsPerSecond ?? 0)
            guard measured > 0 else { return MediaSender.assumedBitrate }
            // A stream that was lowered for its viewers would otherwise have a higher bit rate.
            let full = max(measured, quality.sharedLimit.desiredBitrateInFull?.bitsPerSecond ?? 0)
            return max(Bitrate(bitsPerSecond: full * 5 / 4), Self.minimumDesiredBitrate)
        }
    }

    private static let minimumDesiredBitrate = Bitrate.kilobits(600)

    var deadline: Instant? {
        mutating get {
            var checks = Instant.earlier(transportDeadline, quality.nextLook)
            checks = Instant.earlier(checks, deadlines.next)
            checks = Instant.earlier(checks, quality.nextLinksLook)
            checks = Instant.earlier(checks, gathersUntil)
            return canSend ? Instant.earlier(checks, receiver.deadline) : checks
        }
    }

    /// Writes checks, handshakes and reports that are due. Returns true if the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.poll(into: &batch, at: now) { return true }
        return receiver.poll(through: &transport!, into: &batch, wallTime: wallTime, at: now)
    }

    /// Removes a viewer. The current round restarts, so that no viewer is left out.
    mutating func removeViewer(_ viewerIndex: Int) {
        viewers.removeAll { $0 == viewerIndex }
        nextViewer = 0
    }
}
