public import PCastCore
import PCastRTP
public import PCastWebRTC

/// A selective forwarding unit (RFC 7667, section 3.7) as one value without I/O. It receives publishers' packets and
/// emits packets for viewers.
///
/// Its caller decides who is admitted. A packet is decrypted where it was received, copied once into the log of its
/// track, and encrypted from there into each viewer's datagram.
public struct SFU: ~Copyable, DatagramMachine {
    private(set) var configuration: SFUConfiguration
    var generator: any RandomNumberGenerator & Sendable

    var streams = Slab<PublishedStream>()
    var viewers = Slab<Viewer>()
    var streamIndices: [StreamID: Int] = [:]
    /// The streams of other shards, by the numbers of their publishers.
    var replicas: [PeerID: Int] = [:]
    /// The peers of this shard, by everything that identifies the sender of a datagram.
    var peers = PeerTable()

    /// The links to the other shards.
    var shardLinks: ShardLinks

    /// The unanswered offers of this SFU.
    var offers: [PeerID: OutstandingOffer] = [:]
    /// The first deadline of an offer, or an earlier time; nil if there is none.
    var offersDeadline: Instant?

    var handshakes = HandshakeQueue()
    var timers = PeerTimers(slack: Viewer.timerSlack)
    var events = EventQueue()
    /// The streams that have packets to send.
    var busyStreams: [Int] = []
    /// The peers that have control packets to send.
    var busyPeers: [PeerIndex] = []
    /// The viewers that are scheduled on their own, because their pacer allows it or they lack packets.
    var busyViewers: [Int] = []
    /// The viewers whose reports are processed next; see `expect`.
    var expectedViewers: [Int] = []

    /// The number of datagrams from unknown sources.
    public internal(set) var unknownSourceDatagrams = 0

    /// The number of packets sent to viewers, including retransmissions.
    public internal(set) var packetsForwarded = 0

    let cname: String

    /// Creates an SFU. The generator must be cryptographically secure, because it makes passwords.
    public init(configuration: SFUConfiguration, generator: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.generator = generator
        cname = "pcast"
        shardLinks = ShardLinks(of: configuration.shard, maximumPeers: configuration.maximumPeers)
        // The library is searched now rather than when the first viewer joins.
        _ = SRTPCipherLibrary.preferred
    }

    /// Changes the addresses that answers and offers contain from now on.
    public mutating func advertise(_ addresses: [TransportAddress]) { configuration.advertised = addresses }

    /// The number of publishers and viewers.
    public var peerCount: Int { streams.count - replicas.count + viewers.count }

    /// Whether another peer can be admitted. Unanswered offers count as peers.
    var hasSpace: Bool { peerCount + offers.count < configuration.maximumPeers }

    /// Removes and returns the next event; nil if there is none.
    public mutating func pollEvent() -> SFUEvent? { events.popFirst() }

    // MARK: Time

    /// The time at which `advance(to:)` must be called; nil if there is none.
    public var deadline: Instant? { Instant.earlier(timers.deadline, ownDeadline) }

    /// The earliest time at which `advance(to:)` has work to do; nil if there is none. It is before `deadline` if a
    /// deadline is deferrable.
    public var earliestDeadline: Instant? { Instant.earlier(timers.earliestDeadline, ownDeadline) }

    private var ownDeadline: Instant? { Instant.earlier(handshakes.deadline, offersDeadline) }

    /// Performs the work that is due: handshakes, timeouts, reviews and paced sends.
    public mutating func advance(to now: Instant) {
        processHandshakes(at: now)
        removeExpiredOffers(until: now)
        while let (instant, peerIndex) = timers.pop(until: now) {
            guard isScheduled(instant, peerIndex) else { continue }
            switch peerIndex {
            case .publisher(let index): advance(publisher: index, to: now)
            case .viewer(let index): advance(viewer: index, to: now)
            }
        }
        pruneTimers()
    }

    private mutating func advance(publisher index: Int, to now: Instant) {
        streams[index].scheduled = nil
        if isOverdue(publisher: index, at: now) { return end(publisher: index, reason: .failed, at: now) }
        if let until = streams[index].gathersUntil, until <= now { notePackets(stream: index) }
        streams[index].transport?.advance(to: now)
        checkLinks(stream: index, at: now)
        checkQuality(stream: index, at: now)
        follow(publisher: index, at: now)
    }

    private mutating func advance(viewer index: Int, to now: Instant) {
        viewers[index].scheduled = nil
        if viewers[index].deadlines.hasPassed(at: now) { return end(viewer: index, reason: .failed, at: now) }
        let isDue = viewers[index].hasDeadline(at: now)
        if isDue {
            viewers[index].transport.advance(to: now)
            viewers[index].sender.advance(to: now)
        }
        noteScheduledSend(viewer: index, at: now)
        if isDue { follow(viewer: index, at: now) } else { schedule(viewer: index) }
    }

    /// Whether a deadline is the scheduled one of its peer.
    private func isScheduled(_ instant: Instant, _ peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index): streams.contains(index) && streams[index].scheduled == instant
        case .viewer(let index): viewers.contains(index) && viewers[index].scheduled == instant
        }
    }

    private mutating func pruneTimers() {
        guard timers.needsPruning(peerCount: peerCount) else { return }
        var pruned = PeerTimers(slack: timers.slack)
        swap(&pruned, &timers)
        pruned.prune(peerCount: peerCount) { isScheduled($0, $1) }
        swap(&pruned, &timers)
    }

    /// Schedules a peer's next deadline if it is earlier than the scheduled one. A peer that has something to send is
    /// scheduled after it was sent, because until then its deadline is the one that just passed.
    mutating func schedule(publisher index: Int) {
        guard !streams[index].hasControl, let deadline = streams[index].deadline else { return }
        timers.schedule(
            .publisher(index), at: deadline, isDeferrable: false, instead: &streams[index].scheduled)
    }

    mutating func schedule(viewer index: Int) {
        guard !viewers[index].hasControl, !viewers[index].hasScheduledSend else { return }
        let (unpaced, paced) = (viewers[index].deferrableDeadline, viewers[index].pacingDeadline)
        guard let deadline = Instant.earlier(unpaced, paced) else { return }
        timers.schedule(
            .viewer(index), at: deadline, isDeferrable: deadline != paced, instead: &viewers[index].scheduled)
    }

    mutating func noteControl(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            guard !streams[index].hasControl else { return }
            streams[index].hasControl = true
        case .viewer(let index):
            guard !viewers[index].hasControl else { return }
            viewers[index].hasControl = true
        }
        busyPeers.append(peerIndex)
    }

    /// Schedules a viewer that the pacer held back, if it may send now.
    mutating func noteScheduledSend(viewer index: Int, at now: Instant) {
        guard let held = viewers[index].sender.pacingDeadline, held <= now else { return }
        sendScheduled(viewer: index)
    }

    /// Schedules one viewer alone. The others are not served with it: among thousands of viewers one always lacks a
    /// packet, and to serve them all takes as long as a frame.
    mutating func sendScheduled(viewer index: Int) {
        guard !viewers[index].hasScheduledSend else { return }
        viewers[index].hasScheduledSend = true
        busyViewers.append(index)
    }

    mutating func notePackets(stream index: Int) {
        streams[index].gathersUntil = nil
        guard !streams[index].hasPackets else { return }
        streams[index].hasPackets = true
        busyStreams.append(index)
    }

    // MARK: Following the transports

    /// Applies changes of a peer's transport, and schedules what follows from a datagram or a deadline.
    mutating func follow(_ peerIndex: PeerIndex, at now: Instant) {
        switch peerIndex {
        case .publisher(let index): follow(publisher: index, at: now)
        case .viewer(let index): follow(viewer: index, at: now)
        }
    }

    mutating func follow(publisher index: Int, at now: Instant) {
        let peer = streams[index].peer
        while let event = streams[index].transport?.pollEvent() {
            switch event {
            case .connected(let profile):
                events.append(.connected(peer, profile))
                streams[index].deadlines.connected(at: now)
                streams[index].quality.nextQualityCheck = now + StreamQuality.interval
                streams[index].quality.nextLinksCheck = now + StreamQuality.linksInterval
                while let early = streams[index].transport?.takeEarlyPacket() {
                    replay(early.bytes, from: early.path, to: .publisher(index), at: now)
                }
            case .away:
                streams[index].isAway = true
                events.append(.away(peer))
            case .back:
                streams[index].isAway = false
                events.append(.back(peer))
                renewRequests(stream: index, at: now)
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
        if viewers[index].hasControlPackets(at: now) { noteControl(.viewer(index)) }
        schedule(viewer: index)
    }

    /// Starts to send to a viewer that has its keys, with video at once if possible.
    private mutating func startWatching(_ index: Int, at now: Instant) {
        let stream = viewers[index].stream
        viewers[index].isWatching = true
        if streams[stream].audio.exists, viewers[index].sender.audio != nil {
            viewers[index].sender.audio!.pointee.stream.beginAtEnd(of: streams[stream].audio.log)
        }
        selectLayer(viewer: index, at: now)
        followLayers(viewer: index, at: now)
        sendScheduled(viewer: index)
    }

    /// Requests a key frame from the publisher, or in a replica from the publisher's shard. A nil layer requests none.
    /// A tentative request is one that no viewer waits for.
    mutating func requestKeyFrame(stream index: Int, layer: Int?, isTentative: Bool = false) {
        guard let layer else { return }
        if let publisherShard = streams[index].publisherShard {
            shardLinks.give(
                .keyFrameWanted(streams[index].peer, layer: layer, isTentative: isTentative), to: publisherShard)
        }
        streams[index].receiver.requestKeyFrame(layer: layer, isTentative: isTentative)
        noteControl(.publisher(index))
        schedule(publisher: index)
    }

    // MARK: Ending

    /// Ends a peer. If it is a publisher, its stream ends for all viewers. An unanswered offer is withdrawn.
    public mutating func end(_ peer: PeerID, reason: StreamEndedReason, at now: Instant) {
        switch peers[peer] {
        case .publisher(let index): end(publisher: index, reason: reason, at: now)
        case .viewer(let index): end(viewer: index, reason: reason, at: now)
        case nil: cancel(peer, reason)
        }
    }

    mutating func end(publisher index: Int, reason: StreamEndedReason, at now: Instant) {
        guard !streams[index].isEnding else { return }
        streams[index].isEnding = true
        streams[index].transport?.close(at: now)
        noteControl(.publisher(index))
        for viewer in streams[index].viewers { end(viewer: viewer, reason: reason, at: now) }
        cancelOffers(of: streams[index].id, reason: reason)
        for replica in streams[index].replicas {
            shardLinks.give(.ended(streams[index].peer, reason), to: replica.shard)
        }
        if let publisherShard = streams[index].publisherShard {
            // The stream may continue elsewhere, but this shard has no subscribers any more.
            shardLinks.give(.subscribers(streams[index].peer, StreamReplica.SubscribedTracks()), to: publisherShard)
            shardLinks.give(.links(streams[index].peer, StreamReplica.Links(), 0..<0), to: publisherShard)
        } else {
            events.append(.ended(streams[index].peer, reason))
        }
    }

    mutating func end(viewer index: Int, reason: StreamEndedReason, at now: Instant) {
        guard !viewers[index].isEnding else { return }
        viewers[index].isEnding = true
        endSubscription(viewer: index, at: now)
        viewers[index].transport.close(at: now)
        noteControl(.viewer(index))
        events.append(.ended(viewers[index].peer, reason))
    }

    /// Removes a peer after its last packets were sent.
    mutating func remove(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            guard streams[index].viewers.isEmpty else { return }
            if streamIndices[streams[index].id] == index { streamIndices[streams[index].id] = nil }
            busyStreams.removeAll { $0 == index }
            let stream = streams.remove(index)
            if stream.publisherShard == nil {
                peers.remove(stream.peer, peerIndex)
                reportPathChanges()
            } else {
                replicas[stream.peer] = nil
            }
        case .viewer(let index):
            busyViewers.removeAll { $0 == index }
            let viewer = viewers.remove(index)
            peers.remove(viewer.peer, peerIndex)
            reportPathChanges()
            streams[viewer.stream].quality.departed += Self.counts(viewer.sender)
            streams[viewer.stream].removeViewer(index)
            if viewer.isCounted { streams[viewer.stream].countedViewers -= 1 }
            if streams[viewer.stream].isEnding, streams[viewer.stream].viewers.isEmpty {
                noteControl(.publisher(viewer.stream))
            }
        }
    }
}

extension SFU {
    /// Returns the duration to add to a publisher's capture times, to get those that its viewers receive; nil before
    /// the publisher's first sender report, and for another peer.
    public func captureClockOffset(of peer: PeerID) -> TimeSpan? {
        guard case .publisher(let index) = peers[peer] else { return nil }
        return streams[index].clock.offset
    }
}

extension SFU {
    /// Returns the mapping from the RTP timestamps of the video that a viewer receives to the times of capture, by the
    /// clock of this host. It is that of the viewer's sender reports (RFC 3550, section 6.4.1), less the time that the
    /// publisher's reports take to this host.
    ///
    /// - Returns: The mapping; nil if the viewer is gone, receives no video, or has not received any packet of it yet.
    public func videoClock(viewedBy peer: PeerID, at now: Instant) -> CaptureClock? {
        guard case .viewer(let index) = peers[peer], let video = viewers[index].sender.video else { return nil }
        let wallTime = configuration.clock.wallTime(at: now)
        guard let report = video.pointee.report.report(at: wallTime) else { return nil }
        let delay = (streams[viewers[index].stream].receiver.roundTrip ?? .zero) / 2
        return CaptureClock(
            timestamp: report.rtpTimestamp, wallTime: wallTime - delay, rate: video.pointee.report.clockRate)
    }
}
