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
            case .malformed(let place): .malformed(at: place)
            }
    }
}

extension OverlayWireError: CustomStringConvertible {
    /// The message for a person: the kind of invalid message.
    public var description: String {
        switch self {
        case .tooLarge: "a message of more than \(OverlayEnvelope.sizeLimit) bytes"
        case .notText: "a message that is no text"
        case .malformed(let place): "no JSON, from byte \(place) on"
        case .tooDeep: "values deeper than \(JSONLimits.overlay.depth)"
        case .tooManyValues: "more than \(JSONLimits.overlay.values) values"
        case .noMessage(let field): "no message: “\(field)” is missing or wrong"
        case .unsupportedVersion(let version): "version \(version) of the wire; this is \(OverlayEnvelope.version)"
        case .invalidPayload(let event, let field): "“\(field)” of \(event) is missing or wrong"
        }
    }
}
