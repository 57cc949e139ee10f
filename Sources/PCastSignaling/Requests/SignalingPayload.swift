import FoundationEssentials
import SwiftProtobuf

// The messages of rooms are exchanged between the nodes of a cluster by their types and bytes.

extension SignalingRequest {
    /// The bytes of the message, without an envelope.
    package var payload: [UInt8] { [UInt8](serializing: message) }

    /// Parses the bytes of a message; nil for an unknown type or malformed bytes.
    package init?(type: String, bytes: [UInt8]) {
        guard let request = try? SignalingRequest(type: type, payload: Data(bytes)) else { return nil }
        self = request
    }
}

extension SignalingResponse {
    /// The bytes of the message, without an envelope.
    package var payload: [UInt8] { [UInt8](serializing: message) }

    /// Parses the bytes of a message; nil for an unknown type or malformed bytes.
    package init?(type: String, bytes: [UInt8]) {
        guard let response = try? SignalingResponse(type: type, payload: Data(bytes)) else { return nil }
        self = response
    }
}

extension SignalingEvent {
    /// The bytes of the message, without an envelope.
    package var payload: [UInt8] { [UInt8](serializing: message) }

    /// Parses the bytes of a message; nil for an unknown type or malformed bytes.
    package init?(type: String, bytes: [UInt8]) {
        guard let event = try? SignalingEvent(type: type, payload: Data(bytes)) else { return nil }
        self = event
    }
}
