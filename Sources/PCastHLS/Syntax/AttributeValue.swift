/// An attribute of a tag as it stands: in quotes, or a bare word or number (RFC 8216, section 4.2).
public enum AttributeValue: Hashable, Sendable {
    case quoted(String)
    case bare(String)

    public var text: String {
        switch self {
        case .quoted(let text), .bare(let text): text
        }
    }
}
