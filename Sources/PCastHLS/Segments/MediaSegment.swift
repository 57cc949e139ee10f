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
