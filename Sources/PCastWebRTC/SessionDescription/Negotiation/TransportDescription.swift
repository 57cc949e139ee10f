/// The ICE and DTLS parameters in a local description.
package struct TransportDescription: Sendable {
    /// The ICE username fragment (RFC 8839, section 5.4).
    package var iceUfrag: String
    /// The ICE password, at least 22 characters (RFC 8839, section 5.4).
    package var icePwd: String
    /// The ICE options, e.g. `trickle` (RFC 8838).
    package var iceOptions: [String]
    /// Whether this side is an ICE lite agent (RFC 8445, section 2.5).
    package var isLite: Bool
    /// The fingerprint of the local certificate.
    package var fingerprint: FingerprintAttribute
    /// The ICE candidates, beginning with `candidate:`.
    package var candidates: [String]
    /// Whether no more candidates will follow.
    package var hasAllCandidates: Bool

    /// Creates the parameters of a transport.
    package init(
        iceUfrag: String, icePwd: String, iceOptions: [String] = ["trickle"], isLite: Bool = false,
        fingerprint: FingerprintAttribute, candidates: [String], hasAllCandidates: Bool = true
    ) {
        self.iceUfrag = iceUfrag
        self.icePwd = icePwd
        self.iceOptions = iceOptions
        self.isLite = isLite
        self.fingerprint = fingerprint
        self.candidates = candidates
        self.hasAllCandidates = hasAllCandidates
    }

    /// Writes the parameters to a section. All bundled sections have them, because some peers read the first section
    /// and others each one.
    func write(to media: inout MediaDescription, setup: SetupRole) {
        media.iceUfrag = iceUfrag
        media.icePwd = icePwd
        media.iceOptions = iceOptions
        media.fingerprints = [fingerprint]
        media.setup = setup
        media.candidates = candidates
        media.hasEndOfCandidates = hasAllCandidates
        guard media.carriesRTP else { return }
        media.multiplexesRTCP = true
        // Both sides must write it (RFC 9725, section 4.4.1).
        media.requiresRTCPMultiplexing = true
        media.allowsReducedSizeRTCP = true
    }
}

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
    /// The ICE options by which the peer offers to embed DTLS in connectivity checks (draft-hancke-webrtc-sped-00).
    package var embeddingOptions: [String]
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
        embeddingOptions = EmbeddedHandshake.options.filter(holder.iceOptions.contains)
    }
}
