import PCastCore
import PCastWebRTC

/// The offer of a light viewer to the platform and the state that its answer requires.
struct LightViewerOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity
    let wantsSound: Bool

    /// Creates an offer to receive video, and audio if requested; see `LightIdentity` for the other parameters.
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
