/// The ICE and DTLS parameters in the description of the peer.
public struct RemoteTransport: Sendable {
    /// The ICE username fragment (RFC 8839, section 5.4).
    public var iceUfrag: String
    /// The ICE password.
    public var icePwd: String
    /// The fingerprints, of which one with a supported hash must match the certificate.
    public var fingerprints: [FingerprintAttribute]
    /// The ICE candidates, beginning with `candidate:`.
    public var candidates: [String]
    /// Whether no more candidates will follow.
    public var hasAllCandidates: Bool
    /// Whether the peer is an ICE lite agent, so that this side is controlling.
    public var isLite: Bool
    /// Whether the peer accepts candidates later (RFC 8838).
    public var supportsTrickle: Bool
    /// The DTLS role in `a=setup`; nil if missing.
    public var setup: SetupRole?

    /// Reads the transport that the accepted sections share.
    ///
    /// It is that of the first section in the BUNDLE group, even if that is not accepted (RFC 9143, section 7.1.3).
    /// Values that it lacks come from the other sections, because older peers write them there.
    ///
    /// - Parameters:
    ///   - description: The description of the peer.
    ///   - sections: The indexes of the accepted sections; if there are none, all sections are used.
    ///   - bundle: The BUNDLE group.
    /// - Throws: ``SDPError`` if ICE credentials or a supported fingerprint are missing.
    init(_ description: SessionDescription, sections: [Int], _ bundle: BundleGroup) throws(SDPError) {
        let own = sections.isEmpty ? Array(description.media.indices) : sections
        let order = bundle.indices + own.filter { !bundle.contains($0) }
        let holders = order.map { description.media[$0] }
        guard let holder = holders.first(where: { $0.iceUfrag != nil && $0.icePwd != nil }),
            let ufrag = holder.iceUfrag, let pwd = holder.icePwd
        else { throw .missingICECredentials }
        guard let index = order.first(where: { !description.media[$0].fingerprints.isEmpty }) else {
            throw .missingFingerprint
        }
        let certified = description.media[index]
        guard certified.fingerprints.contains(where: { DTLSFingerprint($0) != nil }) else {
            throw .unusableFingerprint(section: index)
        }
        iceUfrag = ufrag
        icePwd = pwd
        fingerprints = certified.fingerprints
        setup = holders.lazy.compactMap(\.setup).first
        // The candidates come from one section, because the ports in other sections are closed after bundling.
        let reachable = holders.first { !$0.candidates.isEmpty && ($0.iceUfrag ?? ufrag) == ufrag }
        candidates = reachable?.candidates ?? []
        hasAllCandidates = holder.hasEndOfCandidates
        isLite = description.isICELite
        supportsTrickle = holder.iceOptions.contains("trickle")
    }
}
