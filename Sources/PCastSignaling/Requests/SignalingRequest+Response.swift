package import PCastCore
import SwiftProtobuf

extension SignalingRequest {
    /// Returns the response with a status and no other content.
    package func response(_ status: RequestStatus) -> SignalingResponse {
        let status = status.wire
        switch self {
        case .authenticate: return .authenticate(.with { $0.status = status })
        case .bye: return .bye(.with { $0.status = status })
        case .setupStream: return .setupStream(.with { $0.status = status })
        case .setupPlaylistStream: return .setupPlaylistStream(.with { $0.status = status })
        case .setLocalDescription: return .setLocalDescription(.with { $0.status = status })
        case .setRemoteDescription: return .setRemoteDescription(.with { $0.status = status })
        case .createOfferDescription: return .createOfferDescription(.with { $0.status = status })
        case .createAnswerDescription: return .createAnswerDescription(.with { $0.status = status })
        case .addIceCandidates: return .addIceCandidates(.with { $0.status = status })
        case .updateStreamState: return .updateStreamState(.with { $0.status = status })
        case .destroyStream: return .destroyStream(.with { $0.status = status })
        case .sendCaptions: return .sendCaptions(.with { $0.status = status })
        }
    }
}
