/// How the peer is reached and known: what its description says about ICE and DTLS.
public struct RemoteTransport: Sendable {
    /// The peer's user name fragment (RFC 8839, section 5.4).
    public var iceUfrag: String
    /// The peer's password.
    public var icePwd: String
    /// Every fingerprint offered. The peer's certificate has to match one of a hash that we know.
    public var fingerprints: [FingerprintAttribute]
    /// Values of `a=candidate`, from `candidate:` on.
    public var candidates: [String]
    /// No more candidates will come.
    public var hasAllCandidates: Bool
    /// The peer only answers checks: we are controlling.
    public var isLite: Bool
    /// The peer takes candidates later (RFC 8838).
    public var supportsTrickle: Bool
    /// The peer's `a=setup`; nil when it has none.
    public var setup: SetupRole?

    /// Takes the transport of the accepted sections, which share one.
    ///
    /// It is that of the section which the BUNDLE group names first, accepted or not (RFC 9143, section 7.1.3). What
    /// that one does not say, the others do, as older peers write it.
    ///
    /// - Parameter sections: the accepted ones; any will do where there is none.
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
        // One section's: a browser's other sections name ports that it closes once they are bundled.
        let reachable = holders.first { !$0.candidates.isEmpty && ($0.iceUfrag ?? ufrag) == ufrag }
        candidates = reachable?.candidates ?? []
        hasAllCandidates = holder.hasEndOfCandidates
        isLite = description.isICELite
        supportsTrickle = holder.iceOptions.contains("trickle")
    }
}
