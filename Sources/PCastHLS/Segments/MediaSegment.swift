public import PCastMedia

/// A segment, with all that the tags before it say of it (RFC 8216, section 4.3.2).
public struct MediaSegment: Hashable, Sendable {
    /// Its media sequence number, by which it is the same segment in each version of a playlist.
    public var number: Int64
    /// Its discontinuity sequence number: as long as it stays the same, the timestamps and formats go on.
    public var discontinuity: Int64
    /// It begins with a discontinuity.
    public var isDiscontinuity: Bool
    /// As it is written; nil while only parts of it are there.
    public var uri: String?
    /// Of its parts, while only these are there.
    public var duration: TimeSpan
    public var title: String?
    public var byteRange: ByteRange?
    /// None where it is not encrypted; else one of each key format.
    public var keys: [EncryptionKey]
    public var initialization: MediaInitialization?
    /// When its first picture or sample was made, if it says so itself.
    public var programDateTime: WallTime?
    /// It is not available, and not worth asking for.
    public var isGap: Bool
    /// Roughly, in kilobits a second. Where it has none, and those before it do, theirs is read back.
    public var kilobitsPerSecond: Int64?
    /// None once the segment is old.
    public var parts: [PartialSegment]

    public init(
        number: Int64, uri: String?, duration: TimeSpan, discontinuity: Int64 = 0, isDiscontinuity: Bool = false,
        title: String? = nil, byteRange: ByteRange? = nil, keys: [EncryptionKey] = [],
        initialization: MediaInitialization? = nil, programDateTime: WallTime? = nil, isGap: Bool = false,
        kilobitsPerSecond: Int64? = nil, parts: [PartialSegment] = []
    ) {
        precondition(uri.map { !$0.isEmpty && !$0.hasPrefix("#") } ?? true, "a URI is more than a comment")
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
