/// How far another rendition has come, so that a client that changes over knows what to ask for
/// (`EXT-X-RENDITION-REPORT`; RFC 8216bis, section 4.4.5.4).
public struct RenditionReport: Hashable, Sendable {
    public var uri: String
    /// The number of the last segment, or of that whose parts come in.
    public var lastSegment: Int64
    /// From zero; nil where there are no parts.
    public var lastPart: Int64?

    public init(uri: String, lastSegment: Int64, lastPart: Int64? = nil) {
        self.uri = uri
        self.lastSegment = lastSegment
        self.lastPart = lastPart
    }

    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            uri: try attributes.required("URI"),
            lastSegment: try attributes.required("LAST-MSN", attributes.integer),
            lastPart: try attributes.integer("LAST-PART"))
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("URI", uri)
        writer.number("LAST-MSN", lastSegment)
        writer.number("LAST-PART", lastPart)
        return writer
    }
}
