import PCastCore
import PCastRTP
import PCastWebRTC

/// Handshakes of peers that have no keys yet, processed a few at a time.
extension SFU {
    /// Queues a datagram that belongs to a handshake while others are waiting. Returns true if it was queued or
    /// dropped.
    mutating func defersHandshake(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, of peerIndex: PeerIndex, at now: Instant
    ) -> Bool {
        guard DatagramKind(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))) == .dtls,
            isHandshaking(peerIndex, by: path)
        else { return false }
        guard HandshakeQueue.isMadeOfRecords(UnsafeRawBufferPointer(datagram)) else {
            handshakes.noteMalformed()
            return true
        }
        guard !handshakes.mayPass(at: now) else { return false }
        handshakes.append(HandshakeQueue.Entry(bytes: Array(datagram), path: path, peerIndex: peerIndex), of: peerIndex)
        return true
    }

    /// Whether a peer's handshake is in progress on a path. The path must have passed a check, so unknown sources
    /// cannot fill the queue.
    private func isHandshaking(_ peerIndex: PeerIndex, by path: NetworkPath) -> Bool {
        switch peerIndex {
        case .publisher(let index):
            streams.contains(index) && !streams[index].isConnected
                && streams[index].isValidated(path)
        case .viewer(let index):
            viewers.contains(index) && !viewers[index].transport.isConnected
                && viewers[index].transport.isValidated(path)
        }
    }

    /// Processes the queued datagrams whose time has come.
    mutating func processHandshakes(at now: Instant) {
        while let entry = handshakes.next(at: now) {
            var bytes = entry.bytes
            bytes.withUnsafeMutableBytes { datagram in
                _ = handle(datagram, from: entry.path, to: entry.peerIndex, at: now)
            }
        }
    }
}
