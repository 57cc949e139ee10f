import PCastCore
import PCastRTP
import PCastWebRTC

/// A publisher and what it publishes; or the replica of a stream whose publisher is another shard's peer.
struct PublishedStream: ~Copyable {
    let id: StreamID
    let peer: PeerID
    /// Nil in a replica, and so is what depends on it.
    var transport: SecureTransport?
    /// The shard that has the publisher; nil for this one.
    let home: Int?
    /// Where else its viewers are.
    var replicas: [StreamReplica] = []
    /// Of a replica: when its home was heard of last.
    var lastNews: Instant?
    var routes: PeerKeys
    /// As it was negotiated with the publisher.
    let media: [NegotiatedMedia]
    var receiver: MediaReceiver
    var layers: VideoLayers
    var audio: PublishedTrack
    var clock = PublisherClock()
    /// From capture, when all viewers show the same; nil leaves each to its own need.
    let playout: TimeSpan?
    var deadlines: PeerDeadlines
    /// The layers by their quality, as they were when last looked at.
    var ladder = LayerLadder()
    /// At the review before.
    var formerLadder = LayerLadder()
    var nextReview: Instant?
    var quality = StreamQuality()

    /// The viewers' places, in the order in which they are served.
    var viewers: [Int] = []
    /// Those of them that count as viewers.
    var countedViewers = 0
    /// The viewer to be served next in this round, and who was first in it (FAN1).
    var nextViewer = 0
    var firstViewer = 0

    var hasPackets = false
    /// While the rest of a picture is waited for, until when.
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

    /// A replica.
    init(_ snapshot: StreamSnapshot, home: Int, at now: Instant) {
        self.init(
            id: snapshot.id, peer: snapshot.publisher, transport: nil, home: home, routes: PeerKeys(),
            media: snapshot.media, playout: snapshot.playout, deadlines: PeerDeadlines(PeerOptions(), began: now),
            receiver: snapshot.receiver)
        receiver.follow(snapshot.receiver.resting)
        clock = snapshot.clock
        ladder = snapshot.ladder
        quality = snapshot.quality
        quality.departed = StreamMetrics.Counts()
        quality.nextLook = now + StreamQuality.interval
        quality.nextLinksLook = now + StreamQuality.linksInterval
        for index in layers.indices { layers[index].begin(as: snapshot.layers[index]) }
        audio.begin(as: snapshot.audio)
        // Its home tells of the first packet, and has connected it.
        hasMedia = true
        lastNews = now
    }

    /// What makes a replica of it.
    var snapshot: StreamSnapshot {
        var layers: [TrackSnapshot] = []
        for index in self.layers.indices { layers.append(self.layers[index].outline) }
        return StreamSnapshot(
            id: id, publisher: peer, media: media, playout: playout, receiver: receiver, clock: clock, ladder: ladder,
            quality: quality, layers: layers, audio: audio.outline)
    }

    /// Answers the paths that mean nothing any more.
    mutating func rememberPath(_ path: NetworkPath) -> [NetworkPath] {
        routes.add(path: path)
        var routes = routes
        let stale = routes.takeStalePaths { isValidated($0) }
        self.routes = routes
        return stale
    }

    /// What a viewer is sent at most, with some room for what varies.
    var wantedBitrate: Bitrate {
        mutating get {
            let video = ladder.rungs.reduce(0) { max($0, $1.bitrate.bitsPerSecond) }
            let measured = video + (audio.bitrate?.bitsPerSecond ?? 0)
            guard measured > 0 else { return MediaSender.assumedBitrate }
            // A stream that was lowered for its viewers' sake would have more.
            let full = max(measured, quality.sharedLimit.wantedInFull?.bitsPerSecond ?? 0)
            return max(Bitrate(bitsPerSecond: full * 5 / 4), Self.leastWanted)
        }
    }

    private static let leastWanted = Bitrate.kilobits(600)

    var deadline: Instant? {
        mutating get {
            var checks = Instant.earlier(transportDeadline, quality.nextLook)
            checks = Instant.earlier(checks, deadlines.next)
            checks = Instant.earlier(checks, quality.nextLinksLook)
            checks = Instant.earlier(checks, gathersUntil)
            return canSend ? Instant.earlier(checks, receiver.deadline) : checks
        }
    }

    /// Writes checks, handshakes and reports that are due; true when the batch is full.
    mutating func poll(into batch: inout DatagramBatch, wallTime: WallTime, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.poll(into: &batch, at: now) { return true }
        return receiver.poll(through: &transport!, into: &batch, wallTime: wallTime, at: now)
    }

    /// A round that is under way begins again, so that no viewer is left out of it.
    mutating func removeViewer(_ place: Int) {
        viewers.removeAll { $0 == place }
        nextViewer = 0
    }
}
