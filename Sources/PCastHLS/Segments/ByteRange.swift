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
