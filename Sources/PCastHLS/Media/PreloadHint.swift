/// A resource that will be needed next and can be requested before it is available (`EXT-X-PRELOAD-HINT`; RFC 8216bis,
/// section 4.4.5.3).
public struct PreloadHint: Hashable, Sendable {
    /// The type of the hinted resource (`TYPE`).
    public enum Kind: String, Hashable, Sendable {
        /// A partial segment.
        case part = "PART"
        /// A media initialization section.
        case initialization = "MAP"
    }

    /// The type of the resource.
    public var kind: Kind
    /// The URI as in the playlist, relative or absolute.
    public var uri: String
    /// The offset of the first byte in the resource (`BYTERANGE-START`); 0 if the attribute is missing.
    public var start: Int64
    /// The number of bytes (`BYTERANGE-LENGTH`); nil if the hint extends to the end of the resource.
    public var length: Int64?

    /// Creates a hint; without a length it extends to the end of the resource.
    public init(_ kind: Kind, uri: String, start: Int64 = 0, length: Int64? = nil) {
        self.kind = kind
        self.uri = uri
        self.start = start
        self.length = length
    }

    /// Reads the tag. Returns nil for an unknown type, which clients ignore.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a number cannot be read.
    init?(_ attributes: AttributeList) throws(PlaylistError) {
        guard let kind = Kind(rawValue: try attributes.required("TYPE")) else { return nil }
        self.init(
            kind, uri: try attributes.required("URI"), start: try attributes.integer("BYTERANGE-START") ?? 0,
            length: try attributes.integer("BYTERANGE-LENGTH"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.unquoted("TYPE", kind.rawValue)
        writer.quoted("URI", uri)
        writer.number("BYTERANGE-START", start == 0 ? nil : start)
        writer.number("BYTERANGE-LENGTH", length)
        return writer
    }
}
