import PCastMedia
import PCastWebRTC

/// What a light viewer sends to the platform, and what it has to remember of it.
struct LightViewerOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity
    let wantsSound: Bool

    /// - Parameter certificate: see `LightIdentity`.
    init(
        certificate: DTLSCertificate, wantsSound: Bool = true, using generator: inout some RandomNumberGenerator
    ) {
        self.wantsSound = wantsSound
        identity = LightIdentity(certificate: certificate, using: &generator)
        let types: [MediaType] = wantsSound ? [.video, .audio] : [.video]
        offer = identity.offer(types.map { OfferSection(type: $0, direction: .receiveOnly) }, using: &generator)
    }
}
