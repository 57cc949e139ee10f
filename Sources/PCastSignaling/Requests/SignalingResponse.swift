import FoundationEssentials
package import PCastCore
import SwiftProtobuf

/// The platform's response to a ``SignalingRequest`` of the same name.
package enum SignalingResponse: Hashable, Sendable {
    /// The response to `authenticate`.
    case authenticate(PCastAuthenticateResponse)
    /// The response to `bye`.
    case bye(PCastByeResponse)
    /// The response to `setupStream`.
    case setupStream(PCastSetupStreamResponse)
    /// The response to `setupPlaylistStream`.
    case setupPlaylistStream(PCastSetupPlaylistStreamResponse)
    /// The response to `setLocalDescription`.
    case setLocalDescription(PCastSetLocalDescriptionResponse)
    /// The response to `setRemoteDescription`.
    case setRemoteDescription(PCastSetRemoteDescriptionResponse)
    /// The response to `createOfferDescription`.
    case createOfferDescription(PCastCreateOfferDescriptionResponse)
    /// The response to `createAnswerDescription`.
    case createAnswerDescription(PCastCreateAnswerDescriptionResponse)
    /// The response to `addIceCandidates`.
    case addIceCandidates(PCastAddIceCandidatesResponse)
    /// The response to `updateStreamState`.
    case updateStreamState(PCastUpdateStreamStateResponse)
    /// The response to `destroyStream`.
    case destroyStream(PCastDestroyStreamResponse)
    /// The response to `sendCaptions`.
    case sendCaptions(PCastSendCaptionsResponse)
}

extension SignalingResponse {
    /// The full name of the message, which is the `type` of the envelope.
    package var typeName: String { type(of: message).protoMessageName }

    /// The result of the request.
    package var status: RequestStatus { RequestStatus(wire: statusText) }

    /// The result in the form of the protocol.
    package var statusText: String {
        switch self {
        case .authenticate(let message): message.status
        case .bye(let message): message.status
        case .setupStream(let message): message.status
        case .setupPlaylistStream(let message): message.status
        case .setLocalDescription(let message): message.status
        case .setRemoteDescription(let message): message.status
        case .createOfferDescription(let message): message.status
        case .createAnswerDescription(let message): message.status
        case .addIceCandidates(let message): message.status
        case .updateStreamState(let message): message.status
        case .destroyStream(let message): message.status
        case .sendCaptions(let message): message.status
        }
    }

    /// The message of the protocol.
    var message: any Message {
        switch self {
        case .authenticate(let message): message
        case .bye(let message): message
        case .setupStream(let message): message
        case .setupPlaylistStream(let message): message
        case .setLocalDescription(let message): message
        case .setRemoteDescription(let message): message
        case .createOfferDescription(let message): message
        case .createAnswerDescription(let message): message
        case .addIceCandidates(let message): message
        case .updateStreamState(let message): message
        case .destroyStream(let message): message
        case .sendCaptions(let message): message
        }
    }

    /// Parses the payload of an envelope; nil for a type that is not a response. Throws an error for a malformed
    /// payload.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastAuthenticateResponse.protoMessageName:
            self = .authenticate(try PCastAuthenticateResponse(serializedBytes: payload))
        case PCastByeResponse.protoMessageName:
            self = .bye(try PCastByeResponse(serializedBytes: payload))
        case PCastSetupStreamResponse.protoMessageName:
            self = .setupStream(try PCastSetupStreamResponse(serializedBytes: payload))
        case PCastSetupPlaylistStreamResponse.protoMessageName:
            self = .setupPlaylistStream(try PCastSetupPlaylistStreamResponse(serializedBytes: payload))
        case PCastSetLocalDescriptionResponse.protoMessageName:
            self = .setLocalDescription(try PCastSetLocalDescriptionResponse(serializedBytes: payload))
        case PCastSetRemoteDescriptionResponse.protoMessageName:
            self = .setRemoteDescription(try PCastSetRemoteDescriptionResponse(serializedBytes: payload))
        case PCastCreateOfferDescriptionResponse.protoMessageName:
            self = .createOfferDescription(try PCastCreateOfferDescriptionResponse(serializedBytes: payload))
        case PCastCreateAnswerDescriptionResponse.protoMessageName:
            self = .createAnswerDescription(try PCastCreateAnswerDescriptionResponse(serializedBytes: payload))
        case PCastAddIceCandidatesResponse.protoMessageName:
            self = .addIceCandidates(try PCastAddIceCandidatesResponse(serializedBytes: payload))
        case PCastUpdateStreamStateResponse.protoMessageName:
            self = .updateStreamState(try PCastUpdateStreamStateResponse(serializedBytes: payload))
        case PCastDestroyStreamResponse.protoMessageName:
            self = .destroyStream(try PCastDestroyStreamResponse(serializedBytes: payload))
        case PCastSendCaptionsResponse.protoMessageName:
            self = .sendCaptions(try PCastSendCaptionsResponse(serializedBytes: payload))
        default: return nil
        }
    }
}
