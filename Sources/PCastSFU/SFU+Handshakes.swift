import PCastCore
import PCastRTP
import PCastWebRTC

/// Handshakes of peers that have no keys yet, a few at a time.
extension SFU {
    /// Lets a datagram wait if it belongs to a handshake and others have theirs; answers whether it does.
    mutating func defersHandshake(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, of place: PeerIndex, at now: Instant
    ) -> Bool {
        guard DatagramKind(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))) == .dtls,
            isShakingHands(place, by: path)
        else { return false }
        guard HandshakeQueue.isMadeOfRecords(UnsafeRawBufferPointer(datagram)) else {
            handshakes.noteMalformed()
            return true
        }
        guard !handshakes.mayPass(at: now) else { return false }
        handshakes.append(HandshakeQueue.Entry(bytes: Array(datagram), path: path, place: place), of: place)
        return true
    }

    /// Strangers cannot fill the queue: a path is a peer's once it has passed a check there.
    private func isShakingHands(_ place: PeerIndex, by path: NetworkPath) -> Bool {
        switch place {
        case .publisher(let index):
            streams.contains(index) && !streams[index].isConnected
                && streams[index].isValidated(path)
        case .viewer(let index):
            viewers.contains(index) && !viewers[index].transport.isConnected
                && viewers[index].transport.isValidated(path)
        }
    }

    /// Takes in those whose turn has come.
    mutating func processHandshakes(at now: Instant) {
        while let entry = handshakes.next(at: now) {
            var bytes = entry.bytes
            bytes.withUnsafeMutableBytes { datagram in
                _ = handle(datagram, from: entry.path, to: entry.place, at: now)
            }
        }
    }
}
