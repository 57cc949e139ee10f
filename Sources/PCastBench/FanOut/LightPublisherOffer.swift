import PCastCore
import PCastWebRTC

/// The offer of a light publisher and its keys: one video track, no audio.
struct LightPublisherOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity

    /// Creates an offer. For the certificate, see `LightIdentity`.
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
