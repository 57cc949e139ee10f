/// An `a=extmap` line: the number a header extension has in this section's packets (RFC 8285, section 5).
public struct ExtensionMapping: Hashable, Sendable {
    /// 1–14 fit the one-byte form, up to 255 the two-byte form; 4096 and above only ask for a number.
    public var id: UInt16
    /// What the extension is.
    public var uri: String
    /// Nil when not written: then the extension goes wherever the media goes.
    public var direction: MediaDirection?

    public init(id: UInt16, uri: String, direction: MediaDirection? = nil) {
        self.id = id
        self.uri = uri
        self.direction = direction
    }

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count >= 2, let uri = fields[1].token else { return nil }
        let (number, direction) = fields[0].divided(at: "/")
        guard let id = number.decimal(UInt16.self), id > 0 else { return nil }
        self.init(id: id, uri: uri, direction: direction.flatMap { MediaDirection(rawValue: $0.string) })
    }

    var text: String { "\(id)\(direction.map { "/\($0.rawValue)" } ?? "") \(uri)" }
}
