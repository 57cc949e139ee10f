/// An `a=rid` line: the name of one encoding of a section's source, and what it is held to (RFC 8851).
public struct RestrictionIdentifier: Hashable, Sendable {
    /// Which way the encoding goes, seen from the side that wrote the line.
    public enum Direction: String, Hashable, Sendable {
        case send
        case receive = "recv"
    }

    /// What packets carry in the rid header extension.
    public var id: String
    /// Whether the encoding is sent or received.
    public var direction: Direction
    /// Such as `pt` and `max-width`.
    public var restrictions: FormatParameters

    public init(id: String, direction: Direction, restrictions: FormatParameters = [:]) {
        self.id = id
        self.direction = direction
        self.restrictions = restrictions
    }

    init?(parsing text: SDPText) {
        let (id, rest) = text.firstPiece
        guard Self.isIdentifier(id), let (word, restrictions) = rest?.firstPiece,
            let direction = Direction(rawValue: word.string)
        else { return nil }
        self.init(
            id: id.string, direction: direction, restrictions: restrictions.map { FormatParameters(parsing: $0) } ?? [:]
        )
    }

    /// Letters, digits, `-` and `_` (RFC 8851, section 10), no more than a two-byte header extension carries.
    static func isIdentifier(_ text: SDPText) -> Bool {
        !text.isEmpty && text.count <= 255
            && text.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
                default: false
                }
            }
    }

    var text: String {
        "\(id) \(direction.rawValue)" + (restrictions.isEmpty ? "" : " \(restrictions.text)")
    }
}
