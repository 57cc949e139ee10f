/// An `a=rid` line: the ID of an encoding and its restrictions (RFC 8851).
public struct RestrictionIdentifier: Hashable, Sendable {
    /// The direction of an encoding, from the view of the side that wrote the line.
    public enum Direction: String, Hashable, Sendable {
        /// The side sends the encoding.
        case send
        /// The side receives the encoding.
        case receive = "recv"
    }

    /// The ID, which packets have in the RID header extension.
    public var id: String
    /// The direction of the encoding.
    public var direction: Direction
    /// The restrictions, e.g. `pt` and `max-width`.
    public var restrictions: FormatParameters

    /// Creates an identifier.
    public init(id: String, direction: Direction, restrictions: FormatParameters = [:]) {
        self.id = id
        self.direction = direction
        self.restrictions = restrictions
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let (id, rest) = text.firstPiece
        guard Self.isIdentifier(id), let (word, restrictions) = rest?.firstPiece,
            let direction = Direction(rawValue: word.string)
        else { return nil }
        self.init(
            id: id.string, direction: direction, restrictions: restrictions.map { FormatParameters(parsing: $0) } ?? [:]
        )
    }

    /// Returns whether a text consists of letters, digits, `-` and `_` (RFC 8851, section 10), and is at most 255 bytes
    /// long, which a two-byte header extension can carry.
    static func isIdentifier(_ text: SDPText) -> Bool {
        !text.isEmpty && text.count <= 255
            && text.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
                default: false
                }
            }
    }

    /// The value of the attribute.
    var text: String {
        "\(id) \(direction.rawValue)" + (restrictions.isEmpty ? "" : " \(restrictions.text)")
    }
}
