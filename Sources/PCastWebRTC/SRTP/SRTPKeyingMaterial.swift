/// The master keys and salts that a DTLS handshake gave both directions of one peer (RFC 5764, section 4.2).
///
/// It can't be printed: the description says the profile only.
public struct SRTPKeyingMaterial: Equatable, Sendable {
    public let profile: SRTPProfile
    /// What this end protects with.
    public let localKey: [UInt8]
    public let localSalt: [UInt8]
    /// What the peer protects with.
    public let remoteKey: [UInt8]
    public let remoteSalt: [UInt8]

    /// Splits what was exported under "EXTRACTOR-dtls_srtp": client key, server key, client salt, server salt.
    ///
    /// Nil unless `exported` has exactly `profile.keyingMaterialLength` bytes.
    public init?(profile: SRTPProfile, exported: [UInt8], role: DTLSRole) {
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
    public var description: String { "SRTP keys for \(profile)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["profile": profile]) }
}
