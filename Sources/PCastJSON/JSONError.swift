/// The reason why a text was rejected as JSON. Limits are those of ``JSONLimits``.
public enum JSONError: Error, Hashable, Sendable {
    /// The text has more bytes than the limit.
    case tooLarge(limit: Int)
    /// Arrays and objects are nested deeper than the limit.
    case tooDeep(limit: Int)
    /// The text has more values than the limit.
    case tooManyValues(limit: Int)
    /// An object has more members than the limit.
    case tooManyMembers(limit: Int)
    /// The text is not JSON, or is ambiguous, at a byte offset.
    case malformed(at: Int)
}

extension JSONError: CustomStringConvertible {
    /// The message for a person: the limit, or the byte to look at.
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the text is too large: send at most \(limit) bytes"
        case .tooDeep(let limit): "the text is nested too deeply: use at most \(limit) levels"
        case .tooManyValues(let limit): "the text has too many values: use at most \(limit)"
        case .tooManyMembers(let limit): "an object has too many members: use at most \(limit)"
        case .malformed(let offset): "the text is not valid JSON: check byte \(offset)"
        }
    }
}
