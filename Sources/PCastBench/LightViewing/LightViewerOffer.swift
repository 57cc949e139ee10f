import PCastMedia
import PCastWebRTC

/// What a light viewer sends to the platform, and what it has to remember of it.
struct LightViewerOffer: Sendable {
    let offer: Offer
    let credentials: ICECredentials
    let certificate: DTLSCertificate
    let wantsSound: Bool

    /// - Parameter certificate: may be the same for all viewers, which are told apart by their credentials.
    init(
        certificate: DTLSCertificate, wantsSound: Bool = true, using generator: inout some RandomNumberGenerator
    ) {
        self.certificate = certificate
        self.wantsSound = wantsSound
        credentials = ICECredentials.random(using: &generator)
        let types: [MediaType] = wantsSound ? [.video, .audio] : [.video]
        let sections = types.map { OfferSection(type: $0, direction: .receiveOnly) }
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password, fingerprint: certificate.fingerprint.attribute,
            candidates: [], hasAllCandidates: false)
        var capabilities = MediaCapabilities()
        capabilities.feedback.subtract([.pause, .pauseWithoutWait])
        offer = Offer(
            sections: sections, originSessionID: generator.next() >> 1, transport: transport,
            capabilities: capabilities)
    }
}
