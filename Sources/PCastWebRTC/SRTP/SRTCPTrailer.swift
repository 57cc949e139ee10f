/// The word that SRTCP adds: whether the packet is encrypted, and its 31-bit index (RFC 3711, section 3.4).
///
/// In counter mode it stands before the tag, in GCM after it (SRTP8; RFC 7714, section 9.2).
struct SRTCPTrailer {
    static let size = 4
    static let encryptedFlag: UInt32 = 0x8000_0000
    static let indexLimit: UInt32 = 0x8000_0000

    /// As it is sent.
    let word: UInt32

    var isEncrypted: Bool { word & Self.encryptedFlag != 0 }
    var index: UInt32 { word & ~Self.encryptedFlag }

    static func overhead(_ profile: SRTPProfile) -> Int { size + profile.tagLength }

    /// From a packet of at least `8 + overhead(profile)` bytes.
    init(of packet: UnsafeRawBufferPointer, profile: SRTPProfile) {
        let afterTrailer = profile == .aes128CMHMACSHA1 ? profile.tagLength : 0
        let offset = packet.count - afterTrailer - Self.size
        word = packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self).bigEndian
    }
}
