public import PCastCore
import PCastRTP
import PCastWebRTC

/// A received datagram. It is classified once, when it arrives.
struct ReceivedDatagram {
    /// The driver's buffer, in which media is decrypted.
    let bytes: UnsafeMutableRawBufferPointer
    let kind: DatagramKind
    let path: NetworkPath
    /// The time that the datagram waited before it was processed, for example in another shard. Round trips are
    /// measured without it.
    let waited: TimeSpan

    init(_ bytes: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan = .zero) {
        let kind = DatagramKind(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
        self.init(bytes, kind, from: path, waited: waited)
    }

    /// Creates a datagram that was classified before.
    init(
        _ bytes: UnsafeMutableRawBufferPointer, _ kind: DatagramKind, from path: NetworkPath, waited: TimeSpan = .zero
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
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) { handle(datagram, from: path, waited: .zero, at: now) }

    /// Processes a datagram: by its peer if the path or the ufrag is known, otherwise by another shard or as a
    /// migration. Round trips are measured without the time that it waited before it was read.
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, waited: TimeSpan, at now: Instant
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
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes))
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
        let message = STUNMessage.parse(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes)))
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
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram.bytes))
        switch peerIndex {
        case .publisher(let index):
            forwarder.streams[index].transport?.handle(message, in: bytes, from: datagram.path, at: now)
        case .viewer(let index):
            forwarder.viewers[index].transport.handle(message, in: bytes, from: datagram.path, at: now)
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
            forwarder.receiveMedia(
                UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length]), publisher: index, at: now)
            if datagram.path != forwarder.streams[index].path { rememberProbe(peerIndex) }
            forwarder.schedule(publisher: index)
        case .rtcp(let length):
            let packet = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length])
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
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        handle(ReceivedDatagram(copy, from: path), to: peerIndex, at: now)
    }

    /// Prefetches the state of the viewers whose reports arrived in a batch.
    public mutating func expect(from paths: Span<NetworkPath>) {
        guard forwarder.prefetchesReports else { return }
        forwarder.beginPrefetch()
        peers.expect(from: paths) { forwarder.prefetch(expected: $0) }
        forwarder.finishPrefetch()
    }
}
