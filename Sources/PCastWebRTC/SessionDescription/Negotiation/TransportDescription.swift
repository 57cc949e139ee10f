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
