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
