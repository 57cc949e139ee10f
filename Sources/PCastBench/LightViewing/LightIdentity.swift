import PCastMedia
import PCastWebRTC

/// What a light peer is known by: it makes the peer's offer, and its transport once that is answered.
struct LightIdentity: Sendable {
    private let credentials: ICECredentials
    private let certificate: DTLSCertificate

    /// - Parameter certificate: may be the same for all peers, which are told apart by their credentials.
    init(certificate: DTLSCertificate, using generator: inout some RandomNumberGenerator) {
        self.certificate = certificate
        credentials = ICECredentials.random(using: &generator)
    }

    /// Pauses are not offered, so that what is measured is sent all the time.
    func offer(_ sections: [OfferSection], using generator: inout some RandomNumberGenerator) -> Offer {
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password, fingerprint: certificate.fingerprint.attribute,
            candidates: [], hasAllCandidates: false)
        var capabilities = MediaCapabilities()
        capabilities.feedback.subtract([.pause, .pauseWithoutWait])
        return Offer(
            sections: sections, originSessionID: generator.next() >> 1, transport: transport,
            capabilities: capabilities)
    }

    /// The way to whoever has answered.
    ///
    /// - Parameter address: of this peer.
    /// - Throws: `SDPError` when the answer has no ICE credentials.
    func transport(
        to session: NegotiatedSession, from address: TransportAddress,
        using generator: inout some RandomNumberGenerator, at now: Instant
    ) throws(SDPError) -> SecureTransport {
        let remote = session.remoteTransport
        guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .missingICECredentials
        }
        var agent = ICEControllingAgent(
            local: credentials, remote: theirs, tieBreaker: generator.next(), addresses: [address],
            seed: generator.next())
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            agent.addRemoteCandidate(candidate, at: now)
        }
        let handshake = OpenSSLHandshake(
            certificate: certificate, role: session.isDTLSClient ? .client : .server,
            expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
        return SecureTransport(controlling: agent, handshake: handshake, seed: generator.next())
    }
}
