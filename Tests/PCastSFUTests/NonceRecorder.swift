import PCastCore
import PCastWebRTC

/// Detects whether two different packets were protected with the same key and index, which would reuse a nonce
/// (RFC 3711, section 9.1).
final class NonceRecorder {
    /// The key, source and index of a packet. With fewer than 2^16 packets, the sequence number is the index.
    private struct Nonce: Hashable {
        let sender: Int
        let ssrc: UInt32
        let index: UInt32
        let isControl: Bool
    }

    private var seen: [Nonce: Int] = [:]
    /// The first reuse; nil if there is none.
    private(set) var offence: String?

    /// Records a datagram. `sender` identifies the key, because each peer has its own key in each direction.
    func see(_ bytes: [UInt8], from sender: Int) {
        // This selects SRTP and SRTCP (RFC 7983, section 7). The smallest packet has the header, tag and index of
        // SRTCP.
        guard bytes.count >= 28, (128...191).contains(bytes[0]) else { return }
        func word(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        let isControl = (192...223).contains(bytes[1])
        // Both ends agree on AES-GCM, with which the SRTCP index is at the end (RFC 7714, section 9.2).
        let nonce = Nonce(
            sender: sender, ssrc: word(isControl ? 4 : 8),
            index: isControl ? word(bytes.count - 4) & 0x7FFF_FFFF : UInt32(bytes[2]) << 8 | UInt32(bytes[3]),
            isControl: isControl)
        let hash = bytes.hashValue
        if let before = seen.updateValue(hash, forKey: nonce), before != hash { offence = "\(nonce)" }
    }
}
