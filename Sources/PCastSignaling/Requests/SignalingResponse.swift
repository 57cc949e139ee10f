import FoundationEssentials
public import PCastCore
import SwiftProtobuf

/// The platform's answer to a request of the same name.
public enum SignalingResponse: Hashable, Sendable {
    case authenticate(PCastAuthenticateResponse)
    case bye(PCastByeResponse)
    case setupStream(PCastSetupStreamResponse)
    case setupPlaylistStream(PCastSetupPlaylistStreamResponse)
    case setLocalDescription(PCastSetLocalDescriptionResponse)
    case setRemoteDescription(PCastSetRemoteDescriptionResponse)
    case createOfferDescription(PCastCreateOfferDescriptionResponse)
    case createAnswerDescription(PCastCreateAnswerDescriptionResponse)
    case addIceCandidates(PCastAddIceCandidatesResponse)
    case updateStreamState(PCastUpdateStreamStateResponse)
    case destroyStream(PCastDestroyStreamResponse)
}

extension SignalingResponse {
    /// The full name of its message, which is the `type` of the envelope.
    public var typeName: String { type(of: message).protoMessageName }

    /// How the request ended.
    public var status: RequestStatus { RequestStatus(wire: statusText) }

    /// The word of the wire for it.
    public var statusText: String {
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
        }
    }

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
        }
    }

    /// Reads the payload of an envelope; nil for a type that is no response. Throws for a payload that is not of its
    /// type.
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
        default: return nil
        }
    }
}
