import PCastCore
import PCastWebRTC

/// An offer from the SFU that has not been answered yet.
///
/// Until the answer, the peer has only a number and a deadline. Its datagrams count as those of an unknown source,
/// because they cannot be authenticated without its credentials.
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
