import PCastCore
import PCastWebRTC

/// An offer that we made and nobody has answered yet. Until then its peer is a number with a deadline: what comes from it is
/// a stranger's, for without its credentials nothing could be authenticated.
struct OutstandingOffer {
    enum Role: Hashable {
        case publisher(of: StreamID)
        case viewer(of: StreamID)
    }

    let role: Role
    let offer: Offer
    let credentials: ICECredentials
    let terms: PeerOptions
    let began: Instant
    let deadline: Instant
}
