public import PCastCore
import PCastRTP
import PCastWebRTC

/// A received datagram. It is classified once, when it arrives.
struct ReceivedDatagram {
    /// The driver's buffer, in which media is decrypted.
    let bytes: MutableByteView
    let kind: DatagramKind
    let path: NetworkPath
    /// The time that the datagram waited before it was processed, for example in another shard. Round trips are
    /// measured without it.
    let waited: TimeSpan

    init(_ bytes: MutableByteView, from path: NetworkPath, waited: TimeSpan = .zero) {
        let kind = DatagramKind(bytes.span)
        self.init(bytes, kind, from: path, waited: waited)
    }

    /// Creates a datagram that was classified before.
    init(
        _ bytes: MutableByteView, _ kind: DatagramKind, from path: NetworkPath, waited: TimeSpan = .zero
    ) {
        self.bytes = bytes
        self.kind = kind
        self.path = path
        self.waited = waited
    }

    /// The SSRC of the sender of an encrypted packet; nil for other datagrams.
    var source: UInt32? {
        let offset: Int
        switch kind {
        case .rtp: offset = 8
        case .rtcp: offset = 4
        case .stun, .dtls, .unknown: return nil
        }
        guard bytes.count >= offset + 4 else { return nil }
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

extension SFU {
    /// Processes a datagram that did not wait.
    public mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, at now: Instant
    ) { handle(datagram, from: path, waited: .zero, at: now) }

    /// Processes a datagram: by its peer if the path or the ufrag is known, otherwise by another shard or as a
    /// migration. Round trips are measured without the time that it waited before it was read.
    public mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) {
        let datagram = ReceivedDatagram(datagram, from: path, waited: waited)
        guard datagram.kind != .stun else { return handleSTUN(datagram, at: now) }
        if let peerIndex = peers.findPeer(of: path) {
            receive(datagram, of: peerIndex, at: now)
        } else if !transfer(datagram, namedShard: nil, at: now), !handleMigration(datagram, at: now) {
            askPeerShards(datagram, at: now)
            unknownSourceDatagrams += 1
        }
    }

    /// Processes a STUN datagram, which is parsed once. A malformed one has an effect on the counters of the peer only.
    private mutating func handleSTUN(_ datagram: ReceivedDatagram, at now: Instant) {
        let bytes = datagram.bytes.span
        let message = STUNMessage.parse(bytes)
        if let peerIndex = peers.findPeer(of: message, datagram) {
            receive(message, datagram, of: peerIndex, at: now)
        } else if !transfer(datagram, namedShard: peerShard(of: message, in: bytes), at: now) {
            unknownSourceDatagrams += 1
        }
    }

    /// Processes a datagram that another shard forwarded. Only a peer of this shard is looked for.
    mutating func handleForwarded(_ datagram: ReceivedDatagram, at now: Instant) {
        guard datagram.kind == .stun else {
            guard let peerIndex = peers.findPeer(of: datagram.path) else { return unknownSourceDatagrams += 1 }
            return receive(datagram, of: peerIndex, at: now)
        }
        let message = STUNMessage.parse(datagram.bytes.span)
        guard let peerIndex = peers.findPeer(of: message, datagram) else { return unknownSourceDatagrams += 1 }
        receive(message, datagram, of: peerIndex, at: now)
    }

    private mutating func receive(_ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant) {
        if datagram.kind == .dtls, defersHandshake(datagram, of: peerIndex, at: now) { return }
        handle(datagram, to: peerIndex, at: now)
    }

    /// Passes a STUN message to a peer. It is nil if it is malformed.
    private mutating func receive(
        _ message: STUNMessage?, _ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant
    ) {
        guard forwarder.contains(peerIndex) else { return }
        let bytes = datagram.bytes.span
        let admits = admitsEmbeddedHandshake(message, in: datagram, of: peerIndex, at: now)
        switch peerIndex {
        case .publisher(let index):
            forwarder.streams[index].transport?.handle(
                message, in: bytes, from: datagram.path, admitsHandshake: admits, at: now)
        case .viewer(let index):
            forwarder.viewers[index].transport.handle(
                message, in: bytes, from: datagram.path, admitsHandshake: admits, at: now)
        }
        remember(datagram.path, peerIndex)
        follow(peerIndex, at: now)
    }

    /// Passes a datagram to a peer. Returns true if it was authentic media or control.
    @discardableResult
    mutating func handle(_ datagram: ReceivedDatagram, to peerIndex: PeerIndex, at now: Instant) -> Bool {
        guard forwarder.contains(peerIndex) else { return false }
        let received = forwarder.decrypt(datagram, from: peerIndex, at: now)
        rememberSources(peerIndex)
        switch received {
        case .rtp(let length):
            guard case .publisher(let index) = peerIndex else { return true }
            forwarder.receiveMedia(ByteView(datagram.bytes.extracting(0..<length)), publisher: index, at: now)
            if datagram.path != forwarder.streams[index].path { rememberProbe(peerIndex) }
            forwarder.schedule(publisher: index)
        case .rtcp(let length):
            let packet = ByteView(datagram.bytes.extracting(0..<length))
            switch peerIndex {
            case .publisher(let index):
                forwarder.receiveControl(packet, publisher: index, at: now)
                if datagram.path != forwarder.streams[index].path { rememberProbe(peerIndex) }
            case .viewer(let index):
                forwarder.receiveControl(packet, viewer: index, waited: datagram.waited, at: now)
                if datagram.path != forwarder.viewers[index].transport.path { rememberProbe(peerIndex) }
            }
            follow(peerIndex, at: now)
        case .nothing:
            remember(datagram.path, peerIndex)
            follow(peerIndex, at: now)
            return false
        }
        return true
    }

    /// Processes a packet that had to wait for the keys.
    mutating func replay(_ bytes: [UInt8], from path: NetworkPath, to peerIndex: PeerIndex, at now: Instant) {
        var bytes = bytes
        bytes.withMutableByteView { _ = handle(ReceivedDatagram($0, from: path), to: peerIndex, at: now) }
    }

    /// Prefetches the state of the viewers whose reports arrived in a batch.
    public mutating func expect(from paths: Span<NetworkPath>) {
        guard forwarder.prefetchesReports else { return }
        forwarder.beginPrefetch()
        peers.expect(from: paths) { forwarder.prefetch(expected: $0) }
        forwarder.finishPrefetch()
    }
}

/// The migration of peers whose address changes, because a NAT lost its binding or the network changed.
///
/// A media packet from an unknown path identifies its sender only by its SSRC. The peer whose keys authenticate the
/// packet is its sender. That peer receives one binding request on the new path, which is used once the peer answers.
/// Packets that are not authentic or were received before cause no migration.
extension SFU {
    /// Processes a packet of a peer that may have migrated. Returns true if a peer authenticated it.
    mutating func handleMigration(
        _ datagram: ReceivedDatagram, at now: Instant
    ) -> Bool {
        guard datagram.path.transport == .udp, let source = datagram.source else { return false }
        let candidates = peers.sources.candidates(source)
        guard candidates.count > 1 || (candidates.count == 1 && forwarder.shardLinks.exist) else {
            guard let candidate = candidates.first, peers.migrationBudget.take(at: now) else { return false }
            return handle(datagram, to: candidate, at: now)
        }
        guard peers.migrationBudget.take(candidates.count, at: now) else { return false }
        // A failed decryption may modify the datagram, so each candidate receives the original bytes.
        let original = Array(datagram.bytes)
        for candidate in candidates {
            datagram.bytes.copyBytes(from: original)
            if handle(datagram, to: candidate, at: now) { return true }
        }
        // The other shards receive the original bytes next.
        datagram.bytes.copyBytes(from: original)
        return false
    }

    /// Records the SSRCs that a peer has started to send with.
    mutating func rememberSources(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            while let source = forwarder.streams[index].transport?.takeNewSource() {
                peers.add(source: source, of: peerIndex)
            }
        case .viewer(let index):
            while let source = forwarder.viewers[index].transport.takeNewSource() {
                peers.add(source: source, of: peerIndex)
            }
        }
    }

    /// Records the path of a check, because its answer will come from there.
    mutating func rememberProbe(_ peerIndex: PeerIndex) {
        forwarder.noteControl(peerIndex)
        let path =
            switch peerIndex {
            case .publisher(let index): forwarder.streams[index].probedPath
            case .viewer(let index): forwarder.viewers[index].transport.probedPath
            }
        guard let path else { return }
        peers.add(probe: path, of: peerIndex)
        reportPathChanges()
    }
}

/// The paths of peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ peerIndex: PeerIndex) {
        guard peers.paths[path] != peerIndex, isValidated(path, by: peerIndex) else { return }
        switch peerIndex {
        case .publisher(let index):
            let stream = forwarder.streams.address(index)
            peers.add(path: path, of: peerIndex) { stream.pointee.isValidated($0) }
        case .viewer(let index):
            let viewer = forwarder.viewers.address(index)
            peers.add(path: path, of: peerIndex) { viewer.pointee.transport.isValidated($0) }
        }
        reportPathChanges()
    }

    private func isValidated(_ path: NetworkPath, by peerIndex: PeerIndex) -> Bool {
        switch peerIndex {
        case .publisher(let index): forwarder.streams.contains(index) && forwarder.streams[index].isValidated(path)
        case .viewer(let index):
            forwarder.viewers.contains(index) && forwarder.viewers[index].transport.isValidated(path)
        }
    }

    /// Reports changed paths to the other shards, and connections that no peer uses any more to the driver.
    mutating func reportPathChanges() {
        while let change = peers.pollChange() {
            switch change {
            case .claim(let claim, let path): notifyPeerShards(path, claim)
            case .unusedConnection(let path): forwarder.events.append(.closeConnection(path))
            }
        }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { peers.paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let peerIndex = peers.removeClosed(path) else { return }
        switch peerIndex {
        case .publisher(let index): forwarder.streams[index].transport?.pathClosed(path, at: now)
        case .viewer(let index): forwarder.viewers[index].transport.pathClosed(path, at: now)
        }
        follow(peerIndex, at: now)
    }
}

/// Handshakes of peers that have no keys yet, processed a few at a time.
extension SFU {
    /// Queues a DTLS datagram that belongs to a handshake while others are waiting. Returns true if it was queued or
    /// dropped.
    mutating func defersHandshake(_ datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant) -> Bool {
        guard isHandshaking(peerIndex, by: datagram.path) else { return false }
        guard HandshakeQueue.isMadeOfRecords(ByteView(datagram.bytes)) else {
            handshakes.noteMalformed()
            return true
        }
        guard !handshakes.mayPass(at: now) else { return false }
        handshakes.append(
            HandshakeQueue.Entry(bytes: Array(datagram.bytes), path: datagram.path, peerIndex: peerIndex),
            of: peerIndex)
        return true
    }

    /// Whether the DTLS datagram in a check may be processed with it (draft-hancke-webrtc-sped-00). It costs as much as one
    /// without a check, so it is limited and queued in the same way. Only an authentic check counts.
    private mutating func admitsEmbeddedHandshake(
        _ message: STUNMessage?, in datagram: ReceivedDatagram, of peerIndex: PeerIndex, at now: Instant
    ) -> Bool {
        guard let message, let range = message.embeddedDatagramRange, !range.isEmpty else { return true }
        let bytes = datagram.bytes.span
        let isAuthentic: Bool
        switch peerIndex {
        case .publisher(let index):
            if forwarder.streams[index].isConnected { return true }
            isAuthentic = forwarder.streams[index].transport?.authenticates(message, bytes) == true
        case .viewer(let index):
            if forwarder.viewers[index].transport.isConnected { return true }
            isAuthentic = forwarder.viewers[index].transport.authenticates(message, bytes)
        }
        let embedded = datagram.bytes.extracting(range)
        guard isAuthentic, HandshakeQueue.isMadeOfRecords(ByteView(embedded)) else { return false }
        if handshakes.mayPass(at: now) { return true }
        // The check itself validates the path, before the entry is processed.
        handshakes.append(
            HandshakeQueue.Entry(bytes: Array(embedded), path: datagram.path, peerIndex: peerIndex), of: peerIndex)
        return false
    }

    /// Whether a peer's handshake is in progress on a path. The path must have passed a check, so unknown sources
    /// cannot fill the queue.
    private func isHandshaking(_ peerIndex: PeerIndex, by path: NetworkPath) -> Bool {
        guard isValidated(path, by: peerIndex) else { return false }
        switch peerIndex {
        case .publisher(let index): return !forwarder.streams[index].isConnected
        case .viewer(let index): return !forwarder.viewers[index].transport.isConnected
        }
    }

    /// Processes the queued datagrams whose time has come.
    mutating func processHandshakes(at now: Instant) {
        while let entry = handshakes.next(at: now) {
            var bytes = entry.bytes
            bytes.withMutableByteView { datagram in
                _ = handle(ReceivedDatagram(datagram, .dtls, from: entry.path), to: entry.peerIndex, at: now)
            }
        }
    }
}
