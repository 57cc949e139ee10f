import PCastMedia
import PCastWebRTC

/// What a light viewer sends to the platform, and what it has to remember of it.
struct LightViewerOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity
    let wantsSound: Bool

    /// - Parameters: see `LightIdentity`.
    init(
        certificate: DTLSCertificate, wantsSound: Bool = true, isDeaf: Bool = false,
        using generator: inout some RandomNumberGenerator
    ) {
        self.wantsSound = wantsSound
        identity = LightIdentity(certificate: certificate, isDeaf: isDeaf, using: &generator)
        let types: [MediaType] = wantsSound ? [.video, .audio] : [.video]
        offer = identity.offer(types.map { OfferSection(type: $0, direction: .receiveOnly) }, using: &generator)
    }
}
