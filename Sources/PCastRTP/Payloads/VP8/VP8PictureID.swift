/// The number of a picture in a VP8 payload descriptor, of 7 or 15 bits as its sender chose; it wraps there (RFC
/// 7741, section 4.2; RTP7).
public struct VP8PictureID: Hashable, Sendable {
    public enum Width: Int, Sendable {
        case short = 7
        case long = 15
    }

    public let value: UInt16
    public let width: Width

    /// Keeps the low bits of `value` that fit the width.
    public init(_ value: UInt16, width: Width) {
        self.value = value & Self.mask(width)
        self.width = width
    }

    private static func mask(_ width: Width) -> UInt16 { (1 << UInt16(width.rawValue)) - 1 }

    /// The picture `count` later, wrapped.
    public func advanced(by count: Int) -> VP8PictureID {
        VP8PictureID(UInt16(truncatingIfNeeded: Int(value) &+ count), width: width)
    }

    /// How many pictures later this one is than `earlier`, by the shortest way round; both of this one's width.
    public func distance(from earlier: VP8PictureID) -> Int {
        let difference = Int((value &- earlier.value) & Self.mask(width))
        let half = 1 << (width.rawValue - 1)
        return difference >= half ? difference - 2 * half : difference
    }

    /// In bytes of a descriptor.
    public var size: Int { width == .short ? 1 : 2 }
}
