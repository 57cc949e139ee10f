/// What will be needed next and may be asked for before it is there (`EXT-X-PRELOAD-HINT`; RFC 8216bis, section 4.4.5.3).
public struct PreloadHint: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case part = "PART"
        case initialization = "MAP"
    }

    public var kind: Kind
    public var uri: String
    public var start: Int64
    /// To the end of the resource where it is nil.
    public var length: Int64?

    public init(_ kind: Kind, uri: String, start: Int64 = 0, length: Int64? = nil) {
        self.kind = kind
        self.uri = uri
        self.start = start
        self.length = length
    }

    /// - Returns: nil for a kind that is not known, which is ignored.
    init?(_ attributes: AttributeList) throws(PlaylistError) {
        guard let kind = Kind(rawValue: try attributes.required("TYPE")) else { return nil }
        self.init(
            kind, uri: try attributes.required("URI"), start: try attributes.integer("BYTERANGE-START") ?? 0,
            length: try attributes.integer("BYTERANGE-LENGTH"))
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.bare("TYPE", kind.rawValue)
        writer.quoted("URI", uri)
        writer.number("BYTERANGE-START", start == 0 ? nil : start)
        writer.number("BYTERANGE-LENGTH", length)
        return writer
    }
}
