import PCastCore

/// A salt or initialization vector of 128 bits, as two big-endian integers.
struct SRTPInitializationVector {
    private var high: UInt64
    private var low: UInt64

    /// Creates a value from a session salt of 12 or 14 bytes, padded with zeros.
    init(salt: [UInt8]) {
        (high, low) = (0, 0)
        for (position, byte) in salt.enumerated() {
            if position < 8 {
                high |= UInt64(byte) << (56 - 8 * UInt64(position))
            } else {
                low |= UInt64(byte) << (120 - 8 * UInt64(position))
            }
        }
    }

    /// Returns the 12-byte initialization vector of GCM: two zeros, SSRC and 48-bit index, combined with the salt (RFC
    /// 7714, sections 8.1 and 9.1).
    func gcm(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc) << 16 | index >> 32
        vector.low ^= index << 32
        return vector
    }

    /// Returns the initial counter block of counter mode (RFC 3711, section 4.1.1). It combines the salt shifted by 16
    /// bits, the SSRC shifted by 64 bits and the index shifted by 16 bits.
    func counter(ssrc: UInt32, index: UInt64) -> SRTPInitializationVector {
        var vector = self
        vector.high ^= UInt64(ssrc)
        vector.low ^= index << 16
        return vector
    }

    /// Calls a function with the bytes in network order.
    func withBytes<Result>(_ body: (ByteView) -> Result) -> Result {
        withByteView(of: (high.bigEndian, low.bigEndian), body)
    }
}

/// The word that SRTCP adds to a packet: the E flag and the 31-bit index (RFC 3711, section 3.4).
///
/// It precedes the tag in counter mode, and follows it in GCM (RFC 7714, section 9.2).
struct SRTCPTrailer {
    static let size = 4
    static let encryptedFlag: UInt32 = 0x8000_0000
    static let indexLimit: UInt32 = 0x8000_0000

    /// The word in host byte order.
    let word: UInt32

    /// Whether the packet is encrypted (E flag).
    var isEncrypted: Bool { word & Self.encryptedFlag != 0 }
    var index: UInt32 { word & ~Self.encryptedFlag }

    /// Returns the number of bytes that protection adds to an RTCP packet.
    static func overhead(_ profile: SRTPProfile) -> Int { size + profile.tagLength }

    /// Reads the word of a packet, which has at least `8 + overhead(profile)` bytes.
    init(of packet: ByteView, profile: SRTPProfile) {
        let afterTrailer = profile == .aes128CMHMACSHA1 ? profile.tagLength : 0
        let offset = packet.count - afterTrailer - Self.size
        word = packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
    }
}
