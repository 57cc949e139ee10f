import FoundationEssentials
import SwiftProtobuf

/// What the platform tells a client without being asked. It travels as a response with an empty request id.
public enum SignalingEvent: Hashable, Sendable {
    case streamEnded(PCastStreamEnded)
    /// The stream's media connection is gone, and the stream is not: it is to be set up again.
    case streamIdle(PCastStreamIdle)
    case streamDataQuality(PCastStreamDataQuality)
    case connectionDisconnected(PCastConnectionDisconnected)
}

extension SignalingEvent {
    /// The full name of its message, which is the `type` of the envelope.
    public var typeName: String { type(of: message).protoMessageName }

    var message: any Message {
        switch self {
        case .streamEnded(let message): message
        case .streamIdle(let message): message
        case .streamDataQuality(let message): message
        case .connectionDisconnected(let message): message
        }
    }

    /// Reads the payload of an envelope; nil for a type that is no event. Throws for a payload that is not of its type.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastStreamEnded.protoMessageName: self = .streamEnded(try PCastStreamEnded(serializedBytes: payload))
        case PCastStreamIdle.protoMessageName: self = .streamIdle(try PCastStreamIdle(serializedBytes: payload))
        case PCastStreamDataQuality.protoMessageName:
            self = .streamDataQuality(try PCastStreamDataQuality(serializedBytes: payload))
        case PCastConnectionDisconnected.protoMessageName:
            self = .connectionDisconnected(try PCastConnectionDisconnected(serializedBytes: payload))
        default: return nil
        }
    }
}
