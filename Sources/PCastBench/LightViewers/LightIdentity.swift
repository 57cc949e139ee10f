import PCastCore
import PCastRTP
import PCastWebRTC

/// The credentials and capabilities of a ``LightPeer``. Its offer or answer and its transport are made from them.
struct LightIdentity: Sendable {
    private let credentials: ICECredentials
    private let certificate: DTLSCertificate
    private let capabilities: MediaCapabilities

    /// Creates an identity with random ICE credentials.
    ///
    /// - Parameters:
    ///   - certificate: May be shared by all peers, which differ in their ICE credentials.
    ///   - sendsNoFeedback: Whether to offer neither congestion control feedback nor NACK.
    ///   - hasDescriptors: Whether to offer the dependency descriptor in sections with a format that has it.
    ///   - generator: The source of the credentials.
    init(
        certificate: DTLSCertificate, sendsNoFeedback: Bool = false, hasDescriptors: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) {
        self.certificate = certificate
        // Pause (RFC 7728) is not offered, so that the measured streams are sent all the time.
        var capabilities = MediaCapabilities()
        capabilities.feedback.subtract([.pause, .pauseWithoutWait])
        if sendsNoFeedback { capabilities.feedback.subtract([.transportCC, .remb, .nack]) }
        if hasDescriptors { capabilities.headerExtensions.insert(.dependencyDescriptor) }
        self.capabilities = capabilities
        credentials = ICECredentials.random(using: &generator)
    }

    func offer(_ sections: [OfferSection], using generator: inout some RandomNumberGenerator) -> Offer {
        Offer(
            sections: sections, originSessionID: generator.next() >> 1, transport: description([], isWhole: false),
            capabilities: capabilities)
    }

    /// Answers another server's offer: video is received, everything else rejected. Servers that check connectivity
    /// themselves use `address` as this peer's candidate. Throws `SDPError` if the offer is not acceptable.
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

    /// Creates the transport to the remote peer of a negotiated session. `address` is this peer's own address. Throws
    /// `SDPError` if the remote description has no ICE credentials.
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

/// The offer of a light viewer to the platform and the state that its answer requires.
struct LightViewerOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity
    let wantsAudio: Bool

    /// Creates an offer to receive video, and audio if requested; see `LightIdentity` for the other parameters.
    init(
        certificate: DTLSCertificate, wantsAudio: Bool = true, sendsNoFeedback: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) {
        self.wantsAudio = wantsAudio
        identity = LightIdentity(certificate: certificate, sendsNoFeedback: sendsNoFeedback, using: &generator)
        let types: [MediaType] = wantsAudio ? [.video, .audio] : [.video]
        offer = identity.offer(types.map { OfferSection(type: $0, direction: .receiveOnly) }, using: &generator)
    }
}
