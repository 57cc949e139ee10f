import FoundationEssentials
import PCastCore
import SwiftProtobuf

/// One message of the WebSocket: an envelope of package `mq`, as base 64 in a text message, which is how Phenix's Web
/// SDK writes it, or as it is in a binary one.
public enum SignalingFrame: Hashable, Sendable {
    case text(String)
    case binary([UInt8])

    /// Which of the two a peer writes.
    public enum Form: Hashable, Sendable { case text, binary }

    /// In bytes of the WebSocket message; longer ones are refused.
    public static let maximumSize = 256 * 1024

    public init(_ request: MQRequest, form: Form) { self.init(envelope: request, form: form) }

    public init(_ response: MQResponse, form: Form) { self.init(envelope: response, form: form) }

    private init(envelope: some Message, form: Form) {
        let bytes = [UInt8](serializing: envelope)
        self = form == .text ? .text(Base64.encode(bytes)) : .binary(bytes)
    }

    public var form: Form {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }

    /// Its length as a WebSocket message, in bytes.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// The request that a client put in it.
    public func request() throws(SignalingFrameError) -> MQRequest { try envelope() }

    /// The answer or event that the platform put in it.
    public func response() throws(SignalingFrameError) -> MQResponse { try envelope() }

    private func envelope<Envelope: Message>() throws(SignalingFrameError) -> Envelope {
        guard byteCount <= Self.maximumSize else { throw .tooLarge(byteCount: byteCount) }
        guard let bytes else { throw .notBase64 }
        guard let envelope = try? Envelope(serializedBytes: bytes) else { throw .notAnEnvelope }
        return envelope
    }

    private var bytes: [UInt8]? {
        switch self {
        case .text(let text): Base64.decode(text)
        case .binary(let bytes): bytes
        }
    }
}
