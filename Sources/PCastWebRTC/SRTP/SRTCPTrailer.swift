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
    init(of packet: UnsafeRawBufferPointer, profile: SRTPProfile) {
        let afterTrailer = profile == .aes128CMHMACSHA1 ? profile.tagLength : 0
        let offset = packet.count - afterTrailer - Self.size
        word = packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
    }
}
