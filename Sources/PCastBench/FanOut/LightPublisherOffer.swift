import PCastMedia
import PCastWebRTC

/// What a light publisher sends to the platform, and what it has to remember of it: one picture, no sound.
struct LightPublisherOffer: Sendable {
    let offer: Offer
    let credentials: ICECredentials
    let certificate: DTLSCertificate
    let ssrc: UInt32

    init(certificate: DTLSCertificate, using generator: inout some RandomNumberGenerator) {
        self.certificate = certificate
        credentials = ICECredentials.random(using: &generator)
        ssrc = UInt32.random(in: 1...UInt32.max, using: &generator)
        let source = OutgoingSource(
            ssrc: ssrc, rtxSSRC: UInt32.random(in: 1...UInt32.max, using: &generator), cname: "light",
            msid: MediaStreamIdentification(stream: "light", track: "video"))
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password, fingerprint: certificate.fingerprint.attribute,
            candidates: [], hasAllCandidates: false)
        var capabilities = MediaCapabilities()
        capabilities.feedback.subtract([.pause, .pauseWithoutWait])
        offer = Offer(
            sections: [OfferSection(type: .video, direction: .sendOnly, codecs: [.h264], source: source)],
            originSessionID: generator.next() >> 1, transport: transport, capabilities: capabilities)
    }
}
