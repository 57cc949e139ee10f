/// The last segment and part of another rendition, which lets a client that switches to it send a blocking request at
/// once (`EXT-X-RENDITION-REPORT`; RFC 8216bis, section 4.4.5.4).
public struct RenditionReport: Hashable, Sendable {
    /// The URI of the media playlist, relative to the playlist that contains the report.
    public var uri: String
    /// The media sequence number of the last segment, which may have only parts yet (`LAST-MSN`).
    public var lastSegment: Int64
    /// The index of the last part of that segment, from zero (`LAST-PART`); nil if the rendition has no parts.
    public var lastPart: Int64?

    /// Creates a report of the rendition at a URI.
    public init(uri: String, lastSegment: Int64, lastPart: Int64? = nil) {
        self.uri = uri
        self.lastSegment = lastSegment
        self.lastPart = lastPart
    }

    /// Reads the tag.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a number cannot be read.
    init(_ attributes: AttributeList) throws(PlaylistError) {
        self.init(
            uri: try attributes.required("URI"),
            lastSegment: try attributes.required("LAST-MSN", attributes.integer),
            lastPart: try attributes.integer("LAST-PART"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.quoted("URI", uri)
        writer.number("LAST-MSN", lastSegment)
        writer.number("LAST-PART", lastPart)
        return writer
    }
}
