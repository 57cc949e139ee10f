public import PCastMedia

/// A piece of a segment that may be had before the whole is there (`EXT-X-PART`; RFC 8216bis, section 4.4.4.9).
public struct PartialSegment: Hashable, Sendable {
    public var uri: String
    public var duration: TimeSpan
    /// It holds a key frame.
    public var isIndependent: Bool
    public var byteRange: ByteRange?
    /// It is not available, and not worth asking for.
    public var isGap: Bool

    public init(
        uri: String, duration: TimeSpan, isIndependent: Bool = false, byteRange: ByteRange? = nil, isGap: Bool = false
    ) {
        self.uri = uri
        self.duration = duration
        self.isIndependent = isIndependent
        self.byteRange = byteRange
        self.isGap = isGap
    }

    init(_ attributes: AttributeList, after previous: PartialSegment?) throws(PlaylistError) {
        let uri = try attributes.required("URI")
        self.init(
            uri: uri, duration: try attributes.required("DURATION", attributes.seconds),
            isIndependent: attributes.isYes("INDEPENDENT"),
            // Goes on where the part before ended, if that is of the same resource.
            byteRange: try attributes.byteRange(
                "BYTERANGE", after: previous?.uri == uri ? previous?.byteRange?.end : nil),
            isGap: attributes.isYes("GAP"))
    }

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
