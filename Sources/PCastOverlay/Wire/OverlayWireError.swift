import PCastJSON

/// The reason why a message was rejected.
public enum OverlayWireError: Error, Hashable, Sendable {
    /// The message is larger than ``OverlayEnvelope/sizeLimit``.
    case tooLarge
    /// The message is binary.
    case notText
    /// The text is not JSON, from about byte `at` on.
    case malformed(at: Int)
    /// The JSON text has too many levels of nesting.
    case tooDeep
    /// The JSON text has too many values, or an object too many members.
    case tooManyValues
    /// The text is JSON but not a message, because a field is missing or invalid.
    case noMessage(field: String)
    /// The version of the message format is not supported.
    case unsupportedVersion(Int64)
    /// A field of the event's metadata is missing or invalid.
    case invalidPayload(event: String, field: String)
}

extension OverlayWireError {
    /// Converts an error of the JSON parser.
    init(_ error: JSONError) {
        self =
            switch error {
            case .tooLarge: .tooLarge
            case .tooDeep: .tooDeep
            case .tooManyValues, .tooManyMembers: .tooManyValues
            case .malformed(let offset): .malformed(at: offset)
            }
    }
}

extension OverlayWireError: CustomStringConvertible {
    /// The message for a person: the kind of invalid message.
    public var description: String {
        switch self {
        case .tooLarge: "the message has more than \(OverlayEnvelope.sizeLimit) bytes"
        case .notText: "the message is not text"
        case .malformed(let offset): "the message is not valid JSON at byte \(offset)"
        case .tooDeep: "the message is nested deeper than \(JSONLimits.overlay.depth) levels"
        case .tooManyValues: "the message has more than \(JSONLimits.overlay.values) values"
        case .noMessage(let field): "“\(field)” is missing or invalid"
        case .unsupportedVersion(let version):
            "protocol version \(version) is not supported: use \(OverlayEnvelope.version)"
        case .invalidPayload(let event, let field): "“\(field)” of \(event) is missing or invalid"
        }
    }
}
