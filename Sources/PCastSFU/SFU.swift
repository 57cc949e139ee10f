public import PCastCore
import PCastRTP
public import PCastWebRTC

/// A selective forwarding unit (RFC 7667, section 3.7) as one value without I/O. It receives publishers' packets and
/// emits packets for viewers.
///
/// Its caller decides who is admitted. The SFU itself admits peers, finds the peer of each datagram (`PeerTable`), and
/// follows the peers' transports. A `Forwarder` has the streams and sends their packets to viewers.
public struct SFU: ~Copyable, DatagramMachine {
    private(set) var configuration: SFUConfiguration
    var generator: any RandomNumberGenerator & Sendable

    /// The peers of this shard, by everything that identifies the sender of a datagram.
    var peers = PeerTable()
    /// The handshakes that wait to be processed.
    var handshakes = HandshakeQueue()
    /// The streams and their viewers.
    var forwarder: Forwarder
    /// The streams of this shard and the replicas of those of other shards.
    var streamIndices: [StreamID: Int] = [:]
    /// The streams of other shards, by the numbers of their publishers.
    var replicas: [PeerID: Int] = [:]

    /// The publishers in this process, which pass frames instead of packets.
    var ingestSources: [PeerID: IngestSource] = [:]

    /// The unanswered offers of this SFU.
    var offers: [PeerID: OutstandingOffer] = [:]
    /// The first deadline of an offer, or an earlier time; nil if there is none.
    var offersDeadline: Instant?

    /// The number of datagrams from unknown sources.
    public internal(set) var unknownSourceDatagrams = 0

    /// The number of packets sent to viewers, including retransmissions.
    public var packetsForwarded: Int { forwarder.packetsForwarded }

    let cname: String

    /// Creates an SFU. The generator must be cryptographically secure, because it makes passwords.
    public init(configuration: SFUConfiguration, generator: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.generator = generator
        cname = "pcast"
        forwarder = Forwarder(configuration)
        // The library is searched now rather than when the first viewer joins.
        _ = SRTPCipherLibrary.preferred
    }

    /// Changes the addresses that answers and offers contain from now on.
    public mutating func advertise(_ addresses: [TransportAddress]) { configuration.advertised = addresses }

    /// The number of publishers and viewers.
    public var peerCount: Int { forwarder.streams.count - replicas.count + forwarder.viewers.count }

    /// Whether another peer can be admitted. Unanswered offers count as peers.
    var hasSpace: Bool { peerCount + offers.count < configuration.maximumPeers }

    /// Removes and returns the next event; nil if there is none.
    public mutating func pollEvent() -> SFUEvent? { forwarder.events.popFirst() }

    // MARK: Time

    /// The time at which `advance(to:)` must be called; nil if there is none.
    public var deadline: Instant? { Instant.earlier(forwarder.timers.deadline, ownDeadline) }

    /// The earliest time at which `advance(to:)` has work to do; nil if there is none. It is before `deadline` if a
    /// deadline is deferrable.
    public var earliestDeadline: Instant? { Instant.earlier(forwarder.timers.earliestDeadline, ownDeadline) }

    private var ownDeadline: Instant? { Instant.earlier(handshakes.deadline, offersDeadline) }

    /// Performs the work that is due: handshakes, timeouts, reviews and paced sends.
    public mutating func advance(to now: Instant) {
        processHandshakes(at: now)
        removeExpiredOffers(until: now)
        while let (instant, peerIndex) = forwarder.timers.pop(until: now) {
            guard forwarder.isScheduled(instant, peerIndex) else { continue }
            switch peerIndex {
            case .publisher(let index): advance(publisher: index, to: now)
            case .viewer(let index): advance(viewer: index, to: now)
            }
        }
        forwarder.pruneTimers()
    }

    private mutating func advance(publisher index: Int, to now: Instant) {
        forwarder.streams[index].scheduled = nil
        if forwarder.isOverdue(publisher: index, at: now) { return end(publisher: index, reason: .failed, at: now) }
        if !forwarder.advance(publisher: index, to: now) { end(publisher: index, reason: .capacity, at: now) }
        follow(.publisher(index), at: now)
    }

    private mutating func advance(viewer index: Int, to now: Instant) {
        forwarder.viewers[index].scheduled = nil
        if forwarder.viewers[index].deadlines.hasPassed(at: now) {
            return forwarder.end(viewer: index, reason: .failed, at: now)
        }
        if forwarder.advance(viewer: index, to: now) {
            follow(.viewer(index), at: now)
        } else {
            forwarder.schedule(viewer: index)
        }
    }

    // MARK: Sending

    /// Writes datagrams into the batch. Returns true if the batch is full and there may be more.
    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        forwarder.followSplices(at: now)
        // Sending media may make reports and requests due, which are sent at once.
        while forwarder.isBusy {
            switch forwarder.pollControl(into: &batch, at: now) {
            case .full: return true
            case .ended(let peerIndex): remove(peerIndex)
            case .done:
                if forwarder.forward(into: &batch, at: now) || forwarder.resume(into: &batch, at: now) { return true }
            }
        }
        return false
    }

    // MARK: Following the transports

    /// Applies changes of a peer's transport, and schedules what follows from a datagram or a deadline.
    mutating func follow(_ peerIndex: PeerIndex, at now: Instant) {
        while let event = forwarder.pollTransportEvent(of: peerIndex) {
            switch event {
            case .reachable: forwarder.events.append(.reachable(forwarder.id(of: peerIndex)))
            case .connected(let profile):
                forwarder.events.append(.connected(forwarder.id(of: peerIndex), profile))
                connected(peerIndex, at: now)
            case .away:
                forwarder.setAway(true, peerIndex)
                forwarder.events.append(.away(forwarder.id(of: peerIndex)))
            case .back:
                forwarder.setAway(false, peerIndex)
                forwarder.events.append(.back(forwarder.id(of: peerIndex)))
                if case .publisher(let index) = peerIndex { forwarder.renewRequests(stream: index, at: now) }
            case .closed: return endConnection(of: peerIndex, reason: .ended, at: now)
            case .failed: return endConnection(of: peerIndex, reason: .failed, at: now)
            case .closeConnection(let path): forwarder.events.append(.closeConnection(path))
            case .pathChanged:
                if case .viewer(let index) = peerIndex { forwarder.viewers[index].sender.pathChanged(at: now) }
            case .openConnection: break
            }
        }
        forwarder.followed(peerIndex, at: now)
    }

    private mutating func connected(_ peerIndex: PeerIndex, at now: Instant) {
        switch peerIndex {
        case .publisher(let index):
            forwarder.startMeasuring(stream: index, at: now)
            while let early = forwarder.streams[index].transport?.takeEarlyPacket() {
                replay(early.bytes, from: early.path, to: peerIndex, at: now)
            }
        case .viewer(let index): forwarder.startWatching(index, at: now)
        }
    }

    // MARK: Ending

    /// Ends a peer. If it is a publisher, its stream ends for all viewers. An unanswered offer is withdrawn.
    public mutating func end(_ peer: PeerID, reason: StreamEndedReason, at now: Instant) {
        switch peers[peer] {
        case .some(let peerIndex): end(peerIndex, reason: reason, at: now)
        case nil: cancel(peer, reason)
        }
    }

    private mutating func end(_ peerIndex: PeerIndex, reason: StreamEndedReason, at now: Instant) {
        switch peerIndex {
        case .publisher(let index): end(publisher: index, reason: reason, at: now)
        case .viewer(let index): forwarder.end(viewer: index, reason: reason, at: now)
        }
    }

    /// Ends a peer whose connection has ended. A pulled stream may keep its viewers.
    private mutating func endConnection(of peerIndex: PeerIndex, reason: StreamEndedReason, at now: Instant) {
        guard case .publisher(let index) = peerIndex, forwarder.streams[index].keepsViewers,
            forwarder.streams[index].hasMedia, !forwarder.streams[index].isEnding
        else { return end(peerIndex, reason: reason, at: now) }
        guard !forwarder.streams[index].isDetached else { return }
        forwarder.detach(publisher: index, at: now)
        forwarder.events.append(.linkLost(forwarder.streams[index].peer, reason))
    }

    /// Ends a stream with its viewers and unanswered offers.
    mutating func end(publisher index: Int, reason: StreamEndedReason, at now: Instant) {
        guard forwarder.beginEnd(publisher: index, reason: reason, at: now) else { return }
        forwarder.readLastUnits(stream: index, at: now)
        cancelOffers(of: forwarder.streams[index].id, reason: reason)
        forwarder.reportEnd(publisher: index, reason: reason)
    }

    /// Removes a peer after its last packets were sent. A stream remains until its viewers are removed.
    mutating func remove(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            guard forwarder.streams[index].viewers.isEmpty else { return }
            let stream = forwarder.remove(publisher: index)
            if streamIndices[stream.id] == index { streamIndices[stream.id] = nil }
            if stream.publisherShard == nil {
                peers.remove(stream.peer, peerIndex)
                ingestSources[stream.peer] = nil
            } else {
                replicas[stream.peer] = nil
            }
        case .viewer(let index): peers.remove(forwarder.remove(viewer: index), peerIndex)
        }
        reportPathChanges()
    }
}

/// The clocks of media.
extension SFU {
    /// Returns the duration to add to a publisher's capture times, to get those that its viewers receive; nil before
    /// the publisher's first sender report, and for another peer.
    public func captureClockOffset(of peer: PeerID) -> TimeSpan? {
        guard case .publisher(let index) = peers[peer] else { return nil }
        return forwarder.streams[index].clock.offset
    }

    /// Returns the mapping from the RTP timestamps of the video that a viewer receives to the times of capture, by the
    /// clock of this host. It is that of the viewer's sender reports (RFC 3550, section 6.4.1), less the time that the
    /// publisher's reports take to this host.
    ///
    /// - Returns: The mapping; nil if the viewer is gone, receives no video, or has not received any packet of it yet.
    public func videoClock(viewedBy peer: PeerID, at now: Instant) -> CaptureClock? {
        guard case .viewer(let index) = peers[peer], let video = forwarder.viewers[index].sender.video else {
            return nil
        }
        let wallTime = configuration.clock.wallTime(at: now)
        guard let report = video.pointee.report.report(at: wallTime) else { return nil }
        let delay = (forwarder.streams[forwarder.viewers[index].stream].receiver.roundTrip ?? .zero) / 2
        return CaptureClock(
            timestamp: report.rtpTimestamp, wallTime: wallTime - delay, rate: video.pointee.report.clockRate)
    }
}

/// Queries and limits of layers.
extension SFU {
    /// Returns the layers of a viewer's stream and the one that it receives; nil if the viewer has left or has no
    /// video.
    public func layers(viewedBy peer: PeerID) -> ViewedLayers? {
        guard case .viewer(let index) = peers[peer], forwarder.viewers[index].sender.video != nil else { return nil }
        let stream = forwarder.streams.address(forwarder.viewers[index].stream)
        guard stream.pointee.layers.exist else { return nil }
        let viewer = forwarder.viewers.address(index)
        let ladder = viewer.pointee.needsOtherCodec ? stream.pointee.renditions.ladder : stream.pointee.ladder
        return ViewedLayers(
            layers: ladder.rungs.reversed().filter { $0.point == .all }.map { rung in
                ViewedLayers.Layer(
                    name: stream.pointee.name(of: rung.layer), bitrate: stream.pointee.layers[rung.layer].bitrate,
                    dimensions: rung.dimensions, isAvailable: rung.isAvailable)
            },
            current: viewer.pointee.layers.current.map { stream.pointee.name(of: $0) },
            pinned: viewer.pointee.selection.pin.map { stream.pointee.name(of: $0) },
            choice: viewer.pointee.lacksCodec ? .audioOnly : viewer.pointee.selection.choice,
            cause: viewer.pointee.lacksCodec ? .codec : viewer.pointee.selection.cause)
    }

    /// Limits a viewer to a layer. It receives a lower layer if its link does not carry this one.
    ///
    /// - Parameters:
    ///   - peer: The viewer.
    ///   - layer: The name of the layer; nil removes the limit.
    ///   - now: The current time.
    /// - Throws: `SFUError.unknownPeer` or `SFUError.unknownLayer`.
    public mutating func pin(_ peer: PeerID, layer: String?, at now: Instant) throws(SFUError) {
        guard case .viewer(let index) = peers[peer] else { throw .unknownPeer }
        let stream = forwarder.streams.address(forwarder.viewers[index].stream)
        var pin: Int?
        if let layer {
            pin = stream.pointee.layers.indices.first { stream.pointee.name(of: $0) == layer }
            guard pin != nil else { throw .unknownLayer(layer) }
        }
        forwarder.viewers[index].selection.pin = pin
        forwarder.selectLayer(viewer: index, at: now)
    }

    /// Limits the bit rate of a publisher, regardless of what its viewers could receive. A publisher that ignores the
    /// limit is ended with `capacity`. The bit rate is that on the wire; nil removes the limit.
    public mutating func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        guard case .publisher(let index) = peers[peer] else { return }
        forwarder.streams[index].quality.ceiling.change(to: bitrate)
    }
}
