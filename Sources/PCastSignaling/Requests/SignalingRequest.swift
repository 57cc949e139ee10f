import FoundationEssentials
package import PCastCore
import SwiftProtobuf

/// A request of a client to the platform.
package enum SignalingRequest: Hashable, Sendable {
    /// Begins or resumes a session.
    case authenticate(PCastAuthenticate)
    /// Ends the session.
    case bye(PCastBye)
    /// Publishes or views a stream. An empty `createStream.sessionID` means the session of this conversation, so that
    /// the request can follow `authenticate` without waiting for its response.
    case setupStream(PCastSetupStream)
    /// Views a stream through its playlists.
    case setupPlaylistStream(PCastSetupPlaylistStream)
    /// Reports the local description that the client has set.
    case setLocalDescription(PCastSetLocalDescription)
    /// Sends the client's description.
    case setRemoteDescription(PCastSetRemoteDescription)
    /// Requests an offer of the platform.
    case createOfferDescription(PCastCreateOfferDescription)
    /// Requests the platform's answer.
    case createAnswerDescription(PCastCreateAnswerDescription)
    /// Sends the client's ICE candidates.
    case addIceCandidates(PCastAddIceCandidates)
    /// Reports the states of the client's peer connection.
    case updateStreamState(PCastUpdateStreamState)
    /// Ends a stream, or a view of one.
    case destroyStream(PCastDestroyStream)
    /// Sends captions of a published stream.
    case sendCaptions(PCastSendCaptions)
    /// Enters a room, or enters it again after a reconnection.
    case joinRoom(ChatJoinRoom)
    /// Changes a member of a room.
    case updateMember(ChatUpdateMember)
    /// Leaves a room.
    case leaveRoom(ChatLeaveRoom)
    /// Creates a room.
    case createRoom(ChatCreateRoom)
    /// Requests a room with its members.
    case getRoomInfo(ChatGetRoomInfo)
    /// Changes the description of a room.
    case updateRoom(ChatUpdateRoom)
    /// Sends a message to the conversation of a room.
    case sendMessageToRoom(ChatSendMessageToRoom)
    /// Requests messages of a conversation, and optionally its later ones.
    case fetchRoomConversation(ChatFetchRoomConversation)
}

extension SignalingRequest {
    /// The full name of the message, which is the `type` of the envelope.
    package var typeName: String { type(of: message).protoMessageName }

    /// The `type` of the response's envelope.
    var responseTypeName: String { typeName + "Response" }

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
        case .joinRoom(let message): message
        case .updateMember(let message): message
        case .leaveRoom(let message): message
        case .createRoom(let message): message
        case .getRoomInfo(let message): message
        case .updateRoom(let message): message
        case .sendMessageToRoom(let message): message
        case .fetchRoomConversation(let message): message
        }
    }

    /// Parses the payload of an envelope; nil for a type that is not a request. Throws an error for a malformed
    /// payload.
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
        case PCastSendCaptions.protoMessageName: self = .sendCaptions(try PCastSendCaptions(serializedBytes: payload))
        case ChatJoinRoom.protoMessageName: self = .joinRoom(try ChatJoinRoom(serializedBytes: payload))
        case ChatUpdateMember.protoMessageName: self = .updateMember(try ChatUpdateMember(serializedBytes: payload))
        case ChatLeaveRoom.protoMessageName: self = .leaveRoom(try ChatLeaveRoom(serializedBytes: payload))
        case ChatCreateRoom.protoMessageName: self = .createRoom(try ChatCreateRoom(serializedBytes: payload))
        case ChatGetRoomInfo.protoMessageName: self = .getRoomInfo(try ChatGetRoomInfo(serializedBytes: payload))
        case ChatUpdateRoom.protoMessageName: self = .updateRoom(try ChatUpdateRoom(serializedBytes: payload))
        case ChatSendMessageToRoom.protoMessageName:
            self = .sendMessageToRoom(try ChatSendMessageToRoom(serializedBytes: payload))
        case ChatFetchRoomConversation.protoMessageName:
            self = .fetchRoomConversation(try ChatFetchRoomConversation(serializedBytes: payload))
        default: return nil
        }
    }
}

// The description and the mirror contain only the type, because logs must not contain the tokens of requests.
extension SignalingRequest: CustomStringConvertible, CustomReflectable {
    /// The full name of the message, without its content.
    package var description: String { typeName }

    /// The mirror without children, which hides the content from `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

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
        case .joinRoom: return .joinRoom(.with { $0.status = status })
        case .updateMember: return .updateMember(.with { $0.status = status })
        case .leaveRoom: return .leaveRoom(.with { $0.status = status })
        case .createRoom: return .createRoom(.with { $0.status = status })
        case .getRoomInfo: return .getRoomInfo(.with { $0.status = status })
        case .updateRoom: return .updateRoom(.with { $0.status = status })
        case .sendMessageToRoom: return .sendMessageToRoom(.with { $0.status = status })
        case .fetchRoomConversation: return .fetchRoomConversation(.with { $0.status = status })
        }
    }
}

/// The number of a request in one conversation, counted from 1. The protocol has it as a decimal number.
package struct SignalingRequestID: Hashable, Sendable {
    /// The number.
    package let number: UInt64

    init(number: UInt64) { self.number = number }

    /// Parses an ID of the protocol; nil if it is not a decimal number without a sign.
    init?(wire text: String) {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(text) else { return nil }
        self.number = number
    }

    /// The ID in the form of the protocol.
    var wire: String { String(number) }
}
