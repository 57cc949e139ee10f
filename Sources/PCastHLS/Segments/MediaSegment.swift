public import PCastCore

/// A media segment with the properties that the tags before it set (RFC 8216, section 4.3.2).
public struct MediaSegment: Hashable, Sendable {
    /// The media sequence number, which identifies the segment across reloads of the playlist.
    public var number: Int64
    /// The discontinuity sequence number. Timestamps and formats are continuous between segments that share it.
    public var discontinuity: Int64
    /// Whether the segment begins with a discontinuity (`EXT-X-DISCONTINUITY`).
    public var isDiscontinuity: Bool
    /// The URI as in the playlist, relative or absolute; nil if only parts of the segment are available.
    public var uri: String?
    /// The duration (`EXTINF`), or the sum of the parts if only these are available.
    public var duration: TimeSpan
    /// The title of the segment; nil if it is not specified.
    public var title: String?
    /// The range in the resource; nil for the whole resource.
    public var byteRange: ByteRange?
    /// The alternative keys, at most one of each key format; empty if the segment is not encrypted.
    public var keys: [EncryptionKey]
    /// The media initialization section; nil if the segment needs none.
    public var initialization: MediaInitialization?
    /// The wall-clock time of the first sample (`EXT-X-PROGRAM-DATE-TIME`); nil if the segment has no such tag.
    public var programDateTime: WallTime?
    /// Whether the segment is unavailable and must not be requested (`EXT-X-GAP`).
    public var isGap: Bool
    /// The approximate bit rate in kilobits per second (`EXT-X-BITRATE`), which also applies to the following segments;
    /// nil if it is not known.
    public var kilobitsPerSecond: Int64?
    /// The partial segments; empty if the segment is old or the playlist has none.
    public var parts: [PartialSegment]

    /// Creates a segment; `uri` must not be empty or begin with `#`, which would make it a comment.
    public init(
        number: Int64, uri: String?, duration: TimeSpan, discontinuity: Int64 = 0, isDiscontinuity: Bool = false,
        title: String? = nil, byteRange: ByteRange? = nil, keys: [EncryptionKey] = [],
        initialization: MediaInitialization? = nil, programDateTime: WallTime? = nil, isGap: Bool = false,
        kilobitsPerSecond: Int64? = nil, parts: [PartialSegment] = []
    ) {
        precondition(uri.map { !$0.isEmpty && !$0.hasPrefix("#") } ?? true, "a URI must not be empty or a comment")
        self.number = number
        self.discontinuity = discontinuity
        self.isDiscontinuity = isDiscontinuity
        self.uri = uri
        self.duration = duration
        self.title = title
        self.byteRange = byteRange
        self.keys = keys
        self.initialization = initialization
        self.programDateTime = programDateTime
        self.isGap = isGap
        self.kilobitsPerSecond = kilobitsPerSecond
        self.parts = parts
    }
}

/// A media initialization section, which a decoder needs before the segments that refer to it (`EXT-X-MAP`; RFC 8216,
/// section 4.3.2.5).
public struct MediaInitialization: Hashable, Sendable {
    /// The URI of the resource, relative to the playlist.
    public var uri: String
    /// The range in the resource; nil for the whole resource.
    public var byteRange: ByteRange?
    /// The keys that encrypt the section, i.e. those that precede its tag. They may differ from the keys of its
    /// segments.
    public var keys: [EncryptionKey]

    /// Creates a section.
    public init(uri: String, byteRange: ByteRange? = nil, keys: [EncryptionKey] = []) {
        self.uri = uri
        self.byteRange = byteRange
        self.keys = keys
    }
}

/// A range of bytes of a resource (`EXT-X-BYTERANGE`; RFC 8216, section 4.3.2.2). Its offset is always known.
public struct ByteRange: Hashable, Sendable {
    /// The offset of the first byte, from zero.
    public var offset: Int64
    /// The number of bytes.
    public var length: Int64

    /// Creates a range.
    ///
    /// - Precondition: Both values are between zero and 2^61.
    ///
    /// - Parameters:
    ///   - offset: The offset of the first byte.
    ///   - length: The number of bytes.
    public init(offset: Int64, length: Int64) {
        precondition(offset >= 0 && length >= 0 && offset <= PlaylistLimits.number && length <= PlaylistLimits.number)
        self.offset = offset
        self.length = length
    }

    /// The offset after the last byte.
    public var end: Int64 { offset + length }

    /// The value of the attribute or tag, `length@offset`.
    var text: String { "\(length)@\(offset)" }

    /// A byte range as in a playlist, in which the offset may be missing.
    struct UnresolvedRange {
        var length: Int64
        var offset: Int64?

        /// Parses `length[@offset]`. Returns nil if a number cannot be read.
        init?(_ text: PlaylistText) {
            let (length, offset) = text.divided(at: "@")
            guard let length = length.decimal() else { return nil }
            self.length = length
            if let offset {
                guard let offset = offset.decimal() else { return nil }
                self.offset = offset
            }
        }

        /// Returns the range, which begins at `previousEnd` if its offset is missing. Returns nil if both are missing
        /// or the offset exceeds 2^61.
        func range(after previousEnd: Int64?) -> ByteRange? {
            guard let offset = offset ?? previousEnd, offset <= PlaylistLimits.number else { return nil }
            return ByteRange(offset: offset, length: length)
        }
    }
}

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
        writer.yesIfSet("INDEPENDENT", isIndependent)
        writer.quoted("BYTERANGE", byteRange?.text)
        writer.yesIfSet("GAP", isGap)
        return writer
    }
}
