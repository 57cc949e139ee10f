import PCastCore
import PCastWebRTC

/// Sees every protected packet of every sender, and whether two different ones had one index: then they would share a
/// nonce (SRTP1).
final class NonceWitness {
    /// Which key, source and index protected a packet. Below 2^16 packets a source's index is told by its sequence
    /// number.
    private struct Nonce: Hashable {
        let sender: Int
        let ssrc: UInt32
        let index: UInt32
        let isControl: Bool
    }

    private var seen: [Nonce: Int] = [:]
    /// The first offence.
    private(set) var offence: String?

    /// - Parameter sender: tells keys apart, which are each peer's own in each direction.
    func see(_ bytes: [UInt8], from sender: Int) {
        // RFC 7983, section 7; the shortest is SRTCP's header, tag and index.
        guard bytes.count >= 28, (128...191).contains(bytes[0]) else { return }
        func word(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        let isControl = (192...223).contains(bytes[1])
        // Both ends are ours and agree on GCM, where SRTCP's index stands last (SRTP8).
        let nonce = Nonce(
            sender: sender, ssrc: word(isControl ? 4 : 8),
            index: isControl ? word(bytes.count - 4) & 0x7FFF_FFFF : UInt32(bytes[2]) << 8 | UInt32(bytes[3]),
            isControl: isControl)
        let hash = bytes.hashValue
        if let before = seen.updateValue(hash, forKey: nonce), before != hash { offence = "\(nonce)" }
    }
}
