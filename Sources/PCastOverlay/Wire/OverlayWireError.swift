import PCastJSON

/// Why a message of the wire is not taken.
public enum OverlayWireError: Error, Hashable, Sendable {
    /// More than ``OverlayEnvelope/sizeLimit``.
    case tooLarge
    /// Bytes where text is spoken.
    case notText
    /// No JSON, from about this byte on.
    case malformed(at: Int)
    case tooDeep
    case tooManyValues
    /// JSON, but no message: this field is missing, or is none.
    case noMessage(field: String)
    case unsupportedVersion(Int64)
    /// A field of an event's metadata is missing, or is not what it must be.
    case invalidPayload(event: String, field: String)
}

extension OverlayWireError {
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
