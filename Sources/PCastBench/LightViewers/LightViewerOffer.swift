import PCastCore
import PCastWebRTC

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
