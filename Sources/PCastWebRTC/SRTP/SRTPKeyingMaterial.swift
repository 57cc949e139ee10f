/// The SRTP master keys and salts of both directions from a DTLS handshake (RFC 5764, section 4.2).
///
/// Descriptions contain only the profile, so that keys do not appear in logs.
package struct SRTPKeyingMaterial: Equatable, Sendable {
    /// The protection profile.
    package let profile: SRTPProfile
    /// The master key of this side's packets.
    package let localKey: [UInt8]
    /// The master salt of this side's packets.
    package let localSalt: [UInt8]
    /// The master key of the peer's packets.
    package let remoteKey: [UInt8]
    /// The master salt of the peer's packets.
    package let remoteSalt: [UInt8]

    /// Splits the keying material that was exported with the label "EXTRACTOR-dtls_srtp": client key, server key,
    /// client salt, server salt. Returns nil unless it has exactly `profile.keyingMaterialLength` bytes.
    package init?(profile: SRTPProfile, exported: [UInt8], role: DTLSRole) {
        guard exported.count == profile.keyingMaterialLength else { return nil }
        let (key, salt) = (profile.keyLength, profile.saltLength)
        let clientKey = Array(exported[..<key])
        let serverKey = Array(exported[key..<(2 * key)])
        let clientSalt = Array(exported[(2 * key)..<(2 * key + salt)])
        let serverSalt = Array(exported[(2 * key + salt)...])
        self.profile = profile
        (localKey, localSalt) = role == .client ? (clientKey, clientSalt) : (serverKey, serverSalt)
        (remoteKey, remoteSalt) = role == .client ? (serverKey, serverSalt) : (clientKey, clientSalt)
    }
}

extension SRTPKeyingMaterial: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The profile without keys.
    package var description: String { "SRTP keys for \(profile)" }
    /// The profile without keys.
    package var debugDescription: String { description }
    /// A mirror that contains only the profile.
    package var customMirror: Mirror { Mirror(self, children: ["profile": profile]) }
}

/// A DTLS-SRTP protection profile, i.e. a cipher and a tag. The raw value is its number in the `use_srtp` extension
/// (RFC 5764, section 4.1.2; RFC 7714, section 14.2).
public enum SRTPProfile: UInt16, CaseIterable, Sendable {
    /// AES-128 in counter mode with an 80-bit HMAC-SHA1 tag, which all WebRTC endpoints support.
    case aes128CMHMACSHA1 = 0x0001
    /// AES-128-GCM with a 128-bit tag, which costs less than half of counter mode with SHA-1.
    case aeadAES128GCM = 0x0007
    /// AES-256-GCM with a 128-bit tag.
    case aeadAES256GCM = 0x0008

    /// The offered profiles in OpenSSL's spelling, by preference. The most expensive one is last.
    static let openSSLPreference = "SRTP_AEAD_AES_128_GCM:SRTP_AEAD_AES_256_GCM:SRTP_AES128_CM_SHA1_80"

    /// The size of a master key and of a session encryption key in bytes.
    public var keyLength: Int { self == .aeadAES256GCM ? 32 : 16 }

    /// The size of a master salt and of a session salt in bytes: 12 for GCM, 14 for counter mode (RFC 7714, section 12;
    /// RFC 3711, section 8.2).
    public var saltLength: Int { self == .aes128CMHMACSHA1 ? 14 : 12 }

    /// The size of the authentication tag in bytes.
    public var tagLength: Int { self == .aes128CMHMACSHA1 ? 10 : 16 }

    /// The size of the exported keying material in bytes: two keys and two salts.
    public var keyingMaterialLength: Int { 2 * (keyLength + saltLength) }
}
