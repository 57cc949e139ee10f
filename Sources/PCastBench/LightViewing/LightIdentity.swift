import PCastMedia
import PCastWebRTC

/// What a light peer is known by: it makes the peer's offer, and its transport once that is answered.
struct LightIdentity: Sendable {
    private let credentials: ICECredentials
    private let certificate: DTLSCertificate
    private let capabilities: MediaCapabilities

    /// - Parameters:
    ///   - certificate: may be the same for all peers, which are told apart by their credentials.
    ///   - isDeaf: it does not offer to say what came and what did not.
    init(
        certificate: DTLSCertificate, isDeaf: Bool = false, using generator: inout some RandomNumberGenerator
    ) {
        self.certificate = certificate
        // Pauses are not offered, so that what is measured is sent all the time.
        var capabilities = MediaCapabilities()
        capabilities.feedback.subtract([.pause, .pauseWithoutWait])
        if isDeaf { capabilities.feedback.subtract([.transportCC, .remb, .nack]) }
        self.capabilities = capabilities
        credentials = ICECredentials.random(using: &generator)
    }

    func offer(_ sections: [OfferSection], using generator: inout some RandomNumberGenerator) -> Offer {
        Offer(
            sections: sections, originSessionID: generator.next() >> 1, transport: description([], isWhole: false),
            capabilities: capabilities)
    }

    /// Answers another server's offer of video, which is taken.
    ///
    /// - Parameter address: of this peer, for servers that make checks themselves.
    /// - Throws: `SDPError` when it is none that can be taken.
    func answer(
        _ offer: SessionDescription, from address: TransportAddress, using generator: inout some RandomNumberGenerator
    ) throws(SDPError) -> Answer {
        try Answer(
            to: offer, originSessionID: generator.next() >> 1,
            transport: description(["\(ICECandidate.host(address))"], isWhole: true), capabilities: capabilities
        ) { type, _ in type == .video ? .receive : nil }
    }

    private func description(_ candidates: [String], isWhole: Bool) -> TransportDescription {
        TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password, fingerprint: certificate.fingerprint.attribute,
            candidates: candidates, hasAllCandidates: isWhole)
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
