import FoundationEssentials
import SwiftProtobuf

/// What the platform tells a client without being asked. It travels as a response with an empty request id.
public enum SignalingEvent: Hashable, Sendable {
    case streamEnded(PCastStreamEnded)
    case streamDataQuality(PCastStreamDataQuality)
    case connectionDisconnected(PCastConnectionDisconnected)
}

extension SignalingEvent {
    /// The full name of its message, which is the `type` of the envelope.
    public var typeName: String { type(of: message).protoMessageName }

    var message: any Message {
        switch self {
        case .streamEnded(let message): message
        case .streamDataQuality(let message): message
        case .connectionDisconnected(let message): message
        }
    }

    /// Reads the payload of an envelope; nil for a type that is no event. Throws for a payload that is not of its type.
    init?(type: String, payload: Data) throws {
        switch type {
        case PCastStreamEnded.protoMessageName: self = .streamEnded(try PCastStreamEnded(serializedBytes: payload))
        case PCastStreamDataQuality.protoMessageName:
            self = .streamDataQuality(try PCastStreamDataQuality(serializedBytes: payload))
        case PCastConnectionDisconnected.protoMessageName:
            self = .connectionDisconnected(try PCastConnectionDisconnected(serializedBytes: payload))
        default: return nil
        }
    }
}
