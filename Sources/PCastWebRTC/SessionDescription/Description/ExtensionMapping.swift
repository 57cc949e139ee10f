/// An `a=extmap` line: the ID of a header extension in the packets of the section (RFC 8285, section 5).
public struct ExtensionMapping: Hashable, Sendable {
    /// The ID: 1 to 14 for the one-byte form, up to 255 for the two-byte form; 4096 and above are placeholders without
    /// an ID.
    public var id: UInt16
    /// The URI that identifies the extension.
    public var uri: String
    /// The direction in which the extension is used; nil for that of the media.
    public var direction: MediaDirection?

    /// Creates a mapping.
    public init(id: UInt16, uri: String, direction: MediaDirection? = nil) {
        self.id = id
        self.uri = uri
        self.direction = direction
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count >= 2, let uri = fields[1].token else { return nil }
        let (number, direction) = fields[0].divided(at: "/")
        guard let id = number.decimal(UInt16.self), id > 0 else { return nil }
        self.init(id: id, uri: uri, direction: direction.flatMap { MediaDirection(rawValue: $0.string) })
    }

    /// The value of the attribute.
    var text: String { "\(id)\(direction.map { "/\($0.rawValue)" } ?? "") \(uri)" }
}
