import FoundationEssentials
import SwiftProtobuf

/// What a client asks of the platform.
public enum SignalingRequest: Hashable, Sendable {
    /// Begins a session, or goes on with one.
    case authenticate(PCastAuthenticate)
    /// Ends the session.
    case bye(PCastBye)
    /// Publishes or views a stream. An empty `createStream.sessionID` means the session of this conversation, so that
    /// the request can follow `authenticate` without waiting for its answer.
    case setupStream(PCastSetupStream)
    /// Views a stream by its playlists.
    case setupPlaylistStream(PCastSetupPlaylistStream)
    /// Tells the description that the client set on its own side.
    case setLocalDescription(PCastSetLocalDescription)
    /// Hands over the client's description.
    case setRemoteDescription(PCastSetRemoteDescription)
    /// Asks for an offer of the platform.
    case createOfferDescription(PCastCreateOfferDescription)
    /// Asks for the platform's answer.
    case createAnswerDescription(PCastCreateAnswerDescription)
    /// Hands over the client's ICE candidates.
    case addIceCandidates(PCastAddIceCandidates)
    /// Tells the states of the client's peer connection.
    case updateStreamState(PCastUpdateStreamState)
    /// Ends a stream, or the viewing of one.
    case destroyStream(PCastDestroyStream)
}

extension SignalingRequest {
    /// The full name of its message, which is the `type` of the envelope.
    public var typeName: String { type(of: message).protoMessageName }

    /// The `type` of the envelope that answers it.
    var responseTypeName: String { typeName + "Response" }

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

    /// Reads the payload of an envelope; nil for a type that is no request. Throws for a payload that is not of its
    /// type.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastAuthenticate.protoMessageName: self = .authenticate(try PCastAuthenticate(serializedBytes: payload))
        case PCastBye.protoMessageName: self = .bye(try PCastBye(serializedBytes: payload))
        case PCastSetupStream.protoMessageName: self = .setupStream(try PCastSetupStream(serializedBytes: payload))
        case PCastSetupPlaylistStream.protoMessageName:
            self = .setupPlaylistStream(try PCastSetupPlaylistStream(serializedBytes: payload))
        case PCastSetLocalDescription.protoMessageName:
            self = .setLocalDescription(try PCastSetLocalDescription(serializedBytes: payload))
        case PCastSetRemoteDescription.protoMessageName:
            self = .setRemoteDescription(try PCastSetRemoteDescription(serializedBytes: payload))
        case PCastCreateOfferDescription.protoMessageName:
            self = .createOfferDescription(try PCastCreateOfferDescription(serializedBytes: payload))
        case PCastCreateAnswerDescription.protoMessageName:
            self = .createAnswerDescription(try PCastCreateAnswerDescription(serializedBytes: payload))
        case PCastAddIceCandidates.protoMessageName:
            self = .addIceCandidates(try PCastAddIceCandidates(serializedBytes: payload))
        case PCastUpdateStreamState.protoMessageName:
            self = .updateStreamState(try PCastUpdateStreamState(serializedBytes: payload))
        case PCastDestroyStream.protoMessageName:
            self = .destroyStream(try PCastDestroyStream(serializedBytes: payload))
        default: return nil
        }
    }
}

/// Only its name: the tokens that it carries are not for logs.
extension SignalingRequest: CustomStringConvertible, CustomReflectable {
    public var description: String { typeName }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
