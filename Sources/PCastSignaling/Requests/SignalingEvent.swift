import FoundationEssentials
import SwiftProtobuf

/// A notification that the platform sends to a client. It is sent as a response with an empty request ID.
package enum SignalingEvent: Hashable, Sendable {
    /// A stream has ended.
    case streamEnded(PCastStreamEnded)
    /// The stream's media connection is lost, and the stream has to be set up again.
    case streamIdle(PCastStreamIdle)
    /// The data quality of a stream has changed.
    case streamDataQuality(PCastStreamDataQuality)
    /// Captions of a viewed stream arrived.
    case streamCaptions(PCastStreamCaptions)
    /// A room or its members have changed.
    case room(ChatRoomEvent)
    /// Messages of a conversation arrived.
    case roomConversation(ChatRoomConversationEvent)
    /// The connection was closed.
    case connectionDisconnected(PCastConnectionDisconnected)
}

extension SignalingEvent {
    /// The full name of the message, which is the `type` of the envelope.
    package var typeName: String { type(of: message).protoMessageName }

    /// The message of the protocol.
    var message: any Message {
        switch self {
        case .streamEnded(let message): message
        case .streamIdle(let message): message
        case .streamDataQuality(let message): message
        case .streamCaptions(let message): message
        case .room(let message): message
        case .roomConversation(let message): message
        case .connectionDisconnected(let message): message
        }
    }

    /// Parses the payload of an envelope; nil for a type that is not a notification. Throws an error for a malformed
    /// payload.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastStreamEnded.protoMessageName: self = .streamEnded(try PCastStreamEnded(serializedBytes: payload))
        case PCastStreamIdle.protoMessageName: self = .streamIdle(try PCastStreamIdle(serializedBytes: payload))
        case PCastStreamDataQuality.protoMessageName:
            self = .streamDataQuality(try PCastStreamDataQuality(serializedBytes: payload))
        case PCastStreamCaptions.protoMessageName:
            self = .streamCaptions(try PCastStreamCaptions(serializedBytes: payload))
        case ChatRoomEvent.protoMessageName: self = .room(try ChatRoomEvent(serializedBytes: payload))
        case ChatRoomConversationEvent.protoMessageName:
            self = .roomConversation(try ChatRoomConversationEvent(serializedBytes: payload))
        case PCastConnectionDisconnected.protoMessageName:
            self = .connectionDisconnected(try PCastConnectionDisconnected(serializedBytes: payload))
        default: return nil
        }
    }
}
