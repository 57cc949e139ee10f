/// What a decoder needs before the segments it holds for (`EXT-X-MAP`; RFC 8216, section 4.3.2.5).
public struct MediaInitialization: Hashable, Sendable {
    public var uri: String
    public var byteRange: ByteRange?
    /// What it is encrypted with itself: the keys that stood before it, which may be others than its segments'.
    public var keys: [EncryptionKey]

    public init(uri: String, byteRange: ByteRange? = nil, keys: [EncryptionKey] = []) {
        self.uri = uri
        self.byteRange = byteRange
        self.keys = keys
    }
}
