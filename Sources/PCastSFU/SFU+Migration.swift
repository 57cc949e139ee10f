import PCastCore
import PCastRTP
import PCastWebRTC

/// The migration of peers whose address changes, because a NAT lost its binding or the network changed.
///
/// A media packet from an unknown path identifies its sender only by its SSRC. The peer whose keys authenticate the
/// packet is its sender. That peer receives one binding request on the new path, which is used once the peer answers.
/// Packets that are not authentic or were received before cause no migration.
extension SFU {
    /// Processes a packet of a peer that may have migrated. Returns true if a peer authenticated it.
    mutating func handleMigration(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Bool {
        guard path.transport == .udp, let source = Self.source(of: datagram) else { return false }
        let candidates = sources.candidates(source)
        guard candidates.count > 1 || (candidates.count == 1 && shardLinks.exist) else {
            return candidates.first.map { handle(datagram, from: path, to: $0, at: now) } ?? false
        }
        // A failed decryption may modify the datagram, so each candidate receives the original bytes.
        let original = Array(datagram)
        for candidate in candidates {
            datagram.copyBytes(from: original)
            if handle(datagram, from: path, to: candidate, at: now) { return true }
        }
        // The other shards receive the original bytes next.
        datagram.copyBytes(from: original)
        return false
    }

    static func source(of datagram: UnsafeMutableRawBufferPointer) -> UInt32? {
        let offset: Int
        switch DatagramKind(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))) {
        case .rtp: offset = 8
        case .rtcp: offset = 4
        case .stun, .dtls, .unknown: return nil
        }
        guard datagram.count >= offset + 4 else { return nil }
        return UInt32(bigEndian: datagram.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Records the SSRCs that a peer has started to send with.
    mutating func rememberSources(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            while let source = streams[index].transport?.takeNewSource() {
                if streams[index].routes.add(source: source) { _ = sources.add(source, peerIndex) }
            }
        case .viewer(let index):
            while let source = viewers[index].transport.takeNewSource() {
                if viewers[index].routes.add(source: source) { _ = sources.add(source, peerIndex) }
            }
        }
    }

    /// Records the path of a check, because its answer will come from there.
    mutating func rememberProbe(_ peerIndex: PeerIndex) {
        noteControl(peerIndex)
        switch peerIndex {
        case .publisher(let index):
            guard let path = streams[index].probedPath else { return }
            remember(probe: path, instead: streams[index].routes.probedPath, of: peerIndex)
            streams[index].routes.probedPath = path
        case .viewer(let index):
            guard let path = viewers[index].transport.probedPath else { return }
            remember(probe: path, instead: viewers[index].routes.probedPath, of: peerIndex)
            viewers[index].routes.probedPath = path
        }
    }

    private mutating func remember(probe path: NetworkPath, instead last: NetworkPath?, of peerIndex: PeerIndex) {
        guard path != last else { return }
        discard(probe: last, of: peerIndex)
        probedPaths[path] = peerIndex
        notifyPeerShards(path, .asked)
    }

    mutating func discard(probe path: NetworkPath?, of peerIndex: PeerIndex) {
        guard let path, probedPaths[path] == peerIndex else { return }
        probedPaths[path] = nil
        if paths[path] == nil { notifyPeerShards(path, .left) }
    }
}
