public import PCastCore
import PCastRTP
import PCastWebRTC

/// The media router: publishers' packets in, viewers' packets out, as one value that is told everything and does
/// nothing.
///
/// It lets in whoever it is told to let in; who that may be is for others to say. A packet is decrypted where it was
/// received, copied once into the log of its track, and encrypted from there into each viewer's datagram.
public struct SFU: ~Copyable, DatagramMachine {
    private(set) var configuration: SFUConfiguration
    var generator: any RandomNumberGenerator & Sendable

    var streams = Slab<PublishedStream>()
    var viewers = Slab<Viewer>()
    var streamPlaces: [StreamID: Int] = [:]
    /// Streams of other shards', by their publishers' numbers.
    var replicas: [PeerID: Int] = [:]
    var places: [PeerID: PeerIndex] = [:]
    /// Peers by the fragment that they name in checks, and by the paths that they passed checks on. Each peer has at
    /// most two of the former (ICE12) and `ICELiteAgent.maximumPaths` of the latter; see `PeerKeys`.
    var ufrags: [String: PeerIndex] = [:]
    var paths = PathIndex()
    /// Where peers may have moved to, while they are asked; one each.
    var probedPaths: [NetworkPath: PeerIndex] = [:]
    /// By what a peer is found that comes from nowhere known.
    var sources = SourceIndex()

    /// The other shards.
    var shardLinks: ShardLinks

    /// Ours that wait for their answers, and when the first of them is given up, or earlier.
    var offers: [PeerID: OutstandingOffer] = [:]
    var offersDeadline: Instant?

    var handshakes = HandshakeQueue()
    var deadlines = DeadlineHeap()
    /// What may be done `Viewer.timerSlack` sooner, when the thread is awake for something else.
    var deferrableDeadlines = DeadlineHeap()
    var events = EventQueue()
    /// Streams and peers that have something to send.
    var busyStreams: [Int] = []
    var busyPeers: [PeerIndex] = []
    /// Viewers who have a turn of their own: their pacer lets them go on, or they lack something.
    var busyViewers: [Int] = []
    /// Viewers who are heard of next, a few; see `expect`.
    var expectedViewers: [Int] = []

    /// How long the datagram that is being taken in has waited to be.
    var waited = TimeSpan.zero

    /// Datagrams of nobody known.
    public internal(set) var unknownSourceDatagrams = 0

    /// Packets sent to viewers since the beginning, repeated ones included.
    public internal(set) var packetsForwarded = 0

    let cname: String

    /// - Parameter generator: a secure one; it makes passwords.
    public init(configuration: SFUConfiguration, generator: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.generator = generator
        cname = "pcast"
        shardLinks = ShardLinks(of: configuration.shard, maximumPeers: configuration.maximumPeers)
        // Looked for now, and not when the first viewer comes.
        _ = SRTPCipherLibrary.preferred
    }

    /// Names other addresses in every answer from now on.
    public mutating func advertise(_ addresses: [TransportAddress]) { configuration.advertised = addresses }

    /// The number of publishers and viewers.
    public var peerCount: Int { streams.count - replicas.count + viewers.count }

    /// Who has an offer of ours has a place, too.
    var hasRoom: Bool { peerCount + offers.count < configuration.maximumPeers }

    public mutating func pollEvent() -> SFUEvent? { events.popFirst() }

    // MARK: Time

    public var deadline: Instant? {
        Instant.earlier(Instant.earlier(deadlines.first, deferrableDeadlines.first), ownDeadline)
    }

    public var earliestDeadline: Instant? {
        Instant.earlier(
            Instant.earlier(deadlines.first, deferrableDeadlines.first.map { $0 - Viewer.timerSlack }), ownDeadline)
    }

    private var ownDeadline: Instant? { Instant.earlier(handshakes.deadline, offersDeadline) }

    public mutating func advance(to now: Instant) {
        processHandshakes(at: now)
        forgetOffers(until: now)
        while let (instant, place) = deadlines.pop(until: now)
            ?? deferrableDeadlines.pop(until: now + Viewer.timerSlack)
        {
            switch place {
            case .publisher(let index):
                guard streams.contains(index), streams[index].scheduled == instant else { continue }
                streams[index].scheduled = nil
                if isOverdue(publisher: index, at: now) {
                    end(publisher: index, reason: .failed, at: now)
                    continue
                }
                if let until = streams[index].gathersUntil, until <= now { notePackets(stream: index) }
                streams[index].transport?.advance(to: now)
                lookAtLinks(stream: index, at: now)
                lookAtQuality(stream: index, at: now)
                follow(publisher: index, at: now)
            case .viewer(let index):
                guard viewers.contains(index), viewers[index].scheduled == instant else { continue }
                viewers[index].scheduled = nil
                if viewers[index].deadlines.hasPassed(at: now) {
                    end(viewer: index, reason: .failed, at: now)
                    continue
                }
                let isDue = viewers[index].hasDeadline(at: now)
                if isDue {
                    viewers[index].transport.advance(to: now)
                    viewers[index].sender.advance(to: now)
                }
                noteTurn(viewer: index, at: now)
                if isDue { follow(viewer: index, at: now) } else { schedule(viewer: index) }
            }
        }
        if deadlines.count > 64 + 8 * peerCount { deadlines = withoutOld(deadlines) }
        if deferrableDeadlines.count > 64 + 8 * peerCount { deferrableDeadlines = withoutOld(deferrableDeadlines) }
    }

    private func withoutOld(_ heap: consuming DeadlineHeap) -> DeadlineHeap {
        heap.filter { instant, place in
            switch place {
            case .publisher(let index): streams.contains(index) && streams[index].scheduled == instant
            case .viewer(let index): viewers.contains(index) && viewers[index].scheduled == instant
            }
        }
        return heap
    }

    /// Puts a peer's next deadline into the heap, if it comes before the one that stands there. One that has something
    /// to send is scheduled when that is sent, for until then its deadline is the one that has just come.
    mutating func schedule(publisher index: Int) {
        guard !streams[index].hasControl, let deadline = streams[index].deadline else { return }
        if let scheduled = streams[index].scheduled, scheduled <= deadline { return }
        streams[index].scheduled = deadline
        deadlines.insert(deadline, .publisher(index))
    }

    mutating func schedule(viewer index: Int) {
        guard !viewers[index].hasControl, !viewers[index].hasTurn else { return }
        let (timerSlack, paced) = (viewers[index].deferrableDeadline, viewers[index].pacingDeadline)
        guard let deadline = Instant.earlier(timerSlack, paced) else { return }
        if let scheduled = viewers[index].scheduled, scheduled <= deadline { return }
        viewers[index].scheduled = deadline
        if deadline == paced {
            deadlines.insert(deadline, .viewer(index))
        } else {
            deferrableDeadlines.insert(deadline, .viewer(index))
        }
    }

    mutating func noteControl(_ place: PeerIndex) {
        switch place {
        case .publisher(let index):
            guard !streams[index].hasControl else { return }
            streams[index].hasControl = true
        case .viewer(let index):
            guard !viewers[index].hasControl else { return }
            viewers[index].hasControl = true
        }
        busyPeers.append(place)
    }

    /// Lets a viewer go on that the pacer held back, if it may now.
    mutating func noteTurn(viewer index: Int, at now: Instant) {
        guard let held = viewers[index].sender.pacingDeadline, held <= now else { return }
        giveTurn(viewer: index)
    }

    /// Lets one viewer have what it is to be sent. The others are not asked for its sake: of thousands there is always one
    /// that lacks a packet, and to ask them all takes as long as a picture.
    mutating func giveTurn(viewer index: Int) {
        guard !viewers[index].hasTurn else { return }
        viewers[index].hasTurn = true
        busyViewers.append(index)
    }

    mutating func notePackets(stream index: Int) {
        streams[index].gathersUntil = nil
        guard !streams[index].hasPackets else { return }
        streams[index].hasPackets = true
        busyStreams.append(index)
    }

    // MARK: Following the transports

    mutating func follow(publisher index: Int, at now: Instant) {
        let peer = streams[index].peer
        while let event = streams[index].transport?.pollEvent() {
            switch event {
            case .connected(let profile):
                events.append(.connected(peer, profile))
                streams[index].deadlines.connected(at: now)
                streams[index].quality.nextLook = now + StreamQuality.interval
                streams[index].quality.nextLinksLook = now + StreamQuality.linksInterval
                while let early = streams[index].transport?.takeEarlyPacket() {
                    replay(early.bytes, from: early.path, to: .publisher(index), at: now)
                }
            case .away:
                streams[index].isAway = true
                events.append(.away(peer))
            case .back:
                streams[index].isAway = false
                events.append(.back(peer))
                askAnew(stream: index, at: now)
            case .closed:
                end(publisher: index, reason: .ended, at: now)
                return
            case .failed:
                end(publisher: index, reason: .failed, at: now)
                return
            case .closeConnection(let path): events.append(.closeConnection(path))
            case .pathChanged, .openConnection: break
            }
        }
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

    mutating func follow(viewer index: Int, at now: Instant) {
        let peer = viewers[index].peer
        while let event = viewers[index].transport.pollEvent() {
            switch event {
            case .connected(let profile):
                events.append(.connected(peer, profile))
                viewers[index].deadlines.connected(at: now)
                startWatching(index, at: now)
            case .away:
                viewers[index].isAway = true
                events.append(.away(peer))
            case .back:
                viewers[index].isAway = false
                events.append(.back(peer))
            case .closed:
                end(viewer: index, reason: .ended, at: now)
                return
            case .failed:
                end(viewer: index, reason: .failed, at: now)
                return
            case .closeConnection(let path): events.append(.closeConnection(path))
            case .pathChanged: viewers[index].sender.pathChanged(at: now)
            case .openConnection: break
            }
        }
        if viewers[index].wantsToSpeak(at: now) { noteControl(.viewer(index)) }
        schedule(viewer: index)
    }

    /// The viewer's keys are there: it is shown a picture at once where that is possible.
    private mutating func startWatching(_ index: Int, at now: Instant) {
        let stream = viewers[index].stream
        viewers[index].isWatching = true
        if streams[stream].audio.exists, viewers[index].sender.audio != nil {
            viewers[index].sender.audio!.pointee.stream.beginAtEnd(of: streams[stream].audio.log)
        }
        selectLayer(viewer: index, at: now)
        followLayers(viewer: index, at: now)
        giveTurn(viewer: index)
    }

    /// - Parameters:
    ///   - layer: nil asks for none.
    ///   - isTentative: nobody waits for it.
    mutating func requestKeyFrame(stream index: Int, layer: Int?, isTentative: Bool = false) {
        guard let layer else { return }
        if let home = streams[index].home {
            shardLinks.give(
                .keyFrameWanted(streams[index].peer, layer: layer, isTentative: isTentative), to: home)
        }
        streams[index].receiver.requestKeyFrame(layer: layer, isTentative: isTentative)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

    // MARK: Ending

    /// Ends a peer's stay. A publisher's stream ends with it, for all its viewers.
    public mutating func end(_ peer: PeerID, reason: StreamEndedReason, at now: Instant) {
        switch places[peer] {
        case .publisher(let index): end(publisher: index, reason: reason, at: now)
        case .viewer(let index): end(viewer: index, reason: reason, at: now)
        case nil: withdraw(peer, reason)
        }
    }

    mutating func end(publisher index: Int, reason: StreamEndedReason, at now: Instant) {
        guard !streams[index].isEnding else { return }
        streams[index].isEnding = true
        streams[index].transport?.close(at: now)
        noteControl(.publisher(index))
        for viewer in streams[index].viewers { end(viewer: viewer, reason: reason, at: now) }
        withdrawOffers(of: streams[index].id, reason: reason)
        for replica in streams[index].replicas {
            shardLinks.give(.ended(streams[index].peer, reason), to: replica.shard)
        }
        if let home = streams[index].home {
            // Where it goes on, nobody here takes anything of it.
            shardLinks.give(.takers(streams[index].peer, StreamReplica.Takers()), to: home)
            shardLinks.give(.links(streams[index].peer, StreamReplica.Links(), 0..<0), to: home)
        } else {
            events.append(.ended(streams[index].peer, reason))
        }
    }

    mutating func end(viewer index: Int, reason: StreamEndedReason, at now: Instant) {
        guard !viewers[index].isEnding else { return }
        viewers[index].isEnding = true
        endTaking(viewer: index, at: now)
        viewers[index].transport.close(at: now)
        noteControl(.viewer(index))
        events.append(.ended(viewers[index].peer, reason))
    }

    /// Forgets a peer whose last words are sent.
    mutating func remove(_ place: PeerIndex) {
        switch place {
        case .publisher(let index):
            guard streams[index].viewers.isEmpty else { return }
            if streamPlaces[streams[index].id] == index { streamPlaces[streams[index].id] = nil }
            busyStreams.removeAll { $0 == index }
            let stream = streams.remove(index)
            if stream.home == nil { places[stream.peer] = nil } else { replicas[stream.peer] = nil }
            forget(stream.routes, of: place)
        case .viewer(let index):
            busyViewers.removeAll { $0 == index }
            let viewer = viewers.remove(index)
            places[viewer.peer] = nil
            forget(viewer.routes, of: place)
            streams[viewer.stream].quality.departed += Self.counts(viewer.sender)
            streams[viewer.stream].removeViewer(index)
            if viewer.isCounted { streams[viewer.stream].countedViewers -= 1 }
            if streams[viewer.stream].isEnding, streams[viewer.stream].viewers.isEmpty {
                noteControl(.publisher(viewer.stream))
            }
        }
    }
}
