/// A protection profile of DTLS-SRTP: which cipher and tag, by its number in the `use_srtp` extension (RFC 5764,
/// section 4.1.2; RFC 7714, section 14.2).
public enum SRTPProfile: UInt16, CaseIterable, Sendable {
    /// AES-128 in counter mode with an 80-bit HMAC-SHA1 tag, which every WebRTC endpoint has.
    case aes128CMHMACSHA1 = 0x0001
    /// AES-128-GCM with a 128-bit tag: less than half the cost of counter mode with SHA-1.
    case aeadAES128GCM = 0x0007
    /// AES-256-GCM with a 128-bit tag.
    case aeadAES256GCM = 0x0008

    /// The profiles offered, dearest last, in OpenSSL's spelling.
    static let openSSLPreference = "SRTP_AEAD_AES_128_GCM:SRTP_AEAD_AES_256_GCM:SRTP_AES128_CM_SHA1_80"

    /// Bytes of a master key, and of a session encryption key.
    public var keyLength: Int { self == .aeadAES256GCM ? 32 : 16 }

    /// Bytes of a master salt, and of a session salt: 12 for GCM, 14 for counter mode (SRTP9).
    public var saltLength: Int { self == .aes128CMHMACSHA1 ? 14 : 12 }

    /// Bytes of authentication tag at the end of a packet.
    public var tagLength: Int { self == .aes128CMHMACSHA1 ? 10 : 16 }

    /// Bytes to export from the handshake: two keys and two salts.
    public var keyingMaterialLength: Int { 2 * (keyLength + saltLength) }
}
