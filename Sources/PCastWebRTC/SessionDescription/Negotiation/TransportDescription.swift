/// How to reach one side and know it: what its description says about ICE and DTLS.
public struct TransportDescription: Sendable {
    /// RFC 8839, section 5.4.
    public var iceUfrag: String
    /// At least 22 characters (RFC 8839, section 5.4).
    public var icePwd: String
    /// Such as `trickle` (RFC 8838).
    public var iceOptions: [String]
    /// An ICE lite agent only answers checks (RFC 8445, section 2.5).
    public var isLite: Bool
    /// Of the certificate that we show.
    public var fingerprint: FingerprintAttribute
    /// Values of `a=candidate`, from `candidate:` on.
    public var candidates: [String]
    /// No more candidates will come.
    public var hasAllCandidates: Bool

    public init(
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

    /// Bundled sections share the transport, and each says so: some peers read the first section's, some their own.
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
        // RFC 9725, section 4.4.1 demands it of both sides.
        media.requiresRTCPMultiplexing = true
        media.allowsReducedSizeRTCP = true
    }
}
