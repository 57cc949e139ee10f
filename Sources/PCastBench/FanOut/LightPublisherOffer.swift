import PCastMedia
import PCastWebRTC

/// What a light publisher sends to the platform, and what it has to remember of it: one picture, no sound.
struct LightPublisherOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity

    /// - Parameter certificate: see `LightIdentity`.
    init(certificate: DTLSCertificate, using generator: inout some RandomNumberGenerator) {
        identity = LightIdentity(certificate: certificate, using: &generator)
        let source = OutgoingSource(
            ssrc: UInt32.random(in: 1...UInt32.max, using: &generator),
            rtxSSRC: UInt32.random(in: 1...UInt32.max, using: &generator), cname: "light",
            msid: MediaStreamIdentification(stream: "light", track: "video"))
        offer = identity.offer(
            [OfferSection(type: .video, direction: .sendOnly, codecs: [.h264], source: source)], using: &generator)
    }
}
