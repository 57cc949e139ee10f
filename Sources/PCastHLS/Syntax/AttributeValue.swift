/// The value of an attribute, which is a quoted string or not quoted (RFC 8216, section 4.2).
public enum AttributeValue: Hashable, Sendable {
    /// A quoted string, without its quotes.
    case quoted(String)
    /// A number or an enumerated string.
    case unquoted(String)

    /// The value without quotes.
    public var text: String {
        switch self {
        case .quoted(let text), .unquoted(let text): text
        }
    }
}
