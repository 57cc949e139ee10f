/// Why a text is not taken for JSON.
public enum JSONError: Error, Hashable, Sendable {
    case tooLarge(limit: Int)
    case tooDeep(limit: Int)
    case tooManyValues(limit: Int)
    /// Of one object.
    case tooManyMembers(limit: Int)
    /// It breaks off being JSON at this byte, or is ambiguous there.
    case malformed(at: Int)
}

extension JSONError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the text is too large: at most \(limit) bytes are read"
        case .tooDeep(let limit): "the text is nested too deep: at most \(limit) levels are read"
        case .tooManyValues(let limit): "the text has too many values: at most \(limit) are read"
        case .tooManyMembers(let limit): "an object has too many members: at most \(limit) are read"
        case .malformed(let offset): "the text is not JSON: look at byte \(offset)"
        }
    }
}
