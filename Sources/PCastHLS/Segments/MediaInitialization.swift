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
