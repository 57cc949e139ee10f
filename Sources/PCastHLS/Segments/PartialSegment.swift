public import PCastCore

/// A part of a segment that is available before the whole segment is (`EXT-X-PART`; RFC 8216bis, section 4.4.4.9).
public struct PartialSegment: Hashable, Sendable {
    /// The URI as in the playlist, relative or absolute.
    public var uri: String
    /// The duration of the part.
    public var duration: TimeSpan
    /// Whether the part contains a key frame (`INDEPENDENT`).
    public var isIndependent: Bool
    /// The range in the resource; nil for the whole resource.
    public var byteRange: ByteRange?
    /// Whether the part is unavailable and must not be requested (`GAP`).
    public var isGap: Bool

    /// Creates a part.
    public init(
        uri: String, duration: TimeSpan, isIndependent: Bool = false, byteRange: ByteRange? = nil, isGap: Bool = false
    ) {
        self.uri = uri
        self.duration = duration
        self.isIndependent = isIndependent
        self.byteRange = byteRange
        self.isGap = isGap
    }

    /// Reads the tag.
    ///
    /// - Parameters:
    ///   - attributes: The attributes of the tag.
    ///   - previous: The part before, at whose end a byte range without an offset begins.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or a value cannot be read.
    init(_ attributes: AttributeList, after previous: PartialSegment?) throws(PlaylistError) {
        let uri = try attributes.required("URI")
        self.init(
            uri: uri, duration: try attributes.required("DURATION", attributes.seconds),
            isIndependent: attributes.isYes("INDEPENDENT"),
            // The range begins where the previous part ended if both are in the same resource.
            byteRange: try attributes.byteRange(
                "BYTERANGE", after: previous?.uri == uri ? previous?.byteRange?.end : nil),
            isGap: attributes.isYes("GAP"))
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.seconds("DURATION", duration)
        writer.quoted("URI", uri)
        writer.yes("INDEPENDENT", isIndependent)
        writer.quoted("BYTERANGE", byteRange?.text)
        writer.yes("GAP", isGap)
        return writer
    }
}
