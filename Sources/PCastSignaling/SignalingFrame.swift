import FoundationEssentials
import PCastCore
import SwiftProtobuf

/// A WebSocket message with an envelope of the package `mq`. A text message contains it in Base64, as Phenix's Web SDK
/// does. A binary message contains the bytes.
package enum SignalingFrame: Hashable, Sendable {
    /// A text message.
    case text(String)
    /// A binary message.
    case binary([UInt8])

    /// The form in which a peer sends messages.
    package enum Form: Hashable, Sendable { case text, binary }

    /// The maximum size of a WebSocket message in bytes. Larger ones are refused.
    package static let maximumSize = 256 * 1024

    /// Creates the message with a request envelope.
    package init(_ request: MQRequest, form: Form) { self.init(envelope: request, form: form) }

    /// Creates the message with a response envelope.
    package init(_ response: MQResponse, form: Form) { self.init(envelope: response, form: form) }

    private init(envelope: some Message, form: Form) {
        let bytes = [UInt8](serializing: envelope)
        self = form == .text ? .text(Base64.encode(bytes)) : .binary(bytes)
    }

    /// The form of the message.
    package var form: Form {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }

    /// The size of the WebSocket message in bytes.
    package var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// Returns the request envelope of a client. Throws ``SignalingFrameError`` if the message is too large or
    /// malformed.
    package func request() throws(SignalingFrameError) -> MQRequest { try envelope() }

    /// Returns the response envelope of the platform, with a response or a notification. Throws ``SignalingFrameError``
    /// if the message is too large or malformed.
    package func response() throws(SignalingFrameError) -> MQResponse { try envelope() }

    /// Returns the envelope. Throws an error if the message is too large or malformed.
    private func envelope<Envelope: Message>() throws(SignalingFrameError) -> Envelope {
        guard byteCount <= Self.maximumSize else { throw .tooLarge(byteCount: byteCount) }
        guard let bytes else { throw .notBase64 }
        guard let envelope = try? Envelope(serializedBytes: bytes) else { throw .notAnEnvelope }
        return envelope
    }

    /// The encoded envelope; nil if a text message is not Base64.
    private var bytes: [UInt8]? {
        switch self {
        case .text(let text): Base64.decode(text)
        case .binary(let bytes): bytes
        }
    }
}

/// The reason for which a WebSocket message cannot be read.
package enum SignalingFrameError: Error, Hashable, Sendable {
    /// The message is longer than ``SignalingFrame/maximumSize``.
    case tooLarge(byteCount: Int)
    /// The text message is not Base64.
    case notBase64
    /// The content is not a protobuf message, or lacks required fields.
    case notAnEnvelope
}

extension SwiftProtobufContiguousBytes {
    /// Encodes a message of this program in the wire format. All its required fields must be set.
    init(serializing message: some Message) {
        do {
            self = try message.serializedBytes()
        } catch {
            preconditionFailure("\(type(of: message).protoMessageName) lacks a required field")
        }
    }
}
