/// A part of a resource, as `EXT-X-BYTERANGE` and its like say it, with the offset always known.
public struct ByteRange: Hashable, Sendable {
    public var offset: Int64
    public var length: Int64

    public init(offset: Int64, length: Int64) {
        precondition(offset >= 0 && length >= 0 && offset <= PlaylistLimits.number && length <= PlaylistLimits.number)
        self.offset = offset
        self.length = length
    }

    /// The first byte behind it.
    public var end: Int64 { offset + length }

    var text: String { "\(length)@\(offset)" }

    /// As it is written: perhaps without an offset.
    struct Written {
        var length: Int64
        var offset: Int64?

        init?(_ text: PlaylistText) {
            let (length, offset) = text.divided(at: "@")
            guard let length = length.decimal() else { return nil }
            self.length = length
            if let offset {
                guard let offset = offset.decimal() else { return nil }
                self.offset = offset
            }
        }

        /// - Returns: nil where the range goes on, and nothing ended before it, or beyond all bounds.
        func range(after previousEnd: Int64?) -> ByteRange? {
            guard let offset = offset ?? previousEnd, offset <= PlaylistLimits.number else { return nil }
            return ByteRange(offset: offset, length: length)
        }
    }
}
