/// The picture ID of a VP8 payload descriptor, which wraps around at its width of 7 or 15 bits (RFC 7741, section 4.2).
package struct VP8PictureID: Hashable, Sendable {
    /// The width in bits, which the sender chooses.
    package enum Width: Int, Sendable {
        /// Seven bits.
        case short = 7
        /// 15 bits.
        case long = 15
    }

    /// The number.
    package let value: UInt16
    /// The width.
    package let width: Width

    /// Creates a picture ID from the low bits of a value.
    package init(_ value: UInt16, width: Width) {
        self.value = value & Self.mask(width)
        self.width = width
    }

    /// Returns the bits of a width.
    private static func mask(_ width: Width) -> UInt16 { (1 << UInt16(width.rawValue)) - 1 }

    /// Returns the picture ID of the frame after a number of frames, with wraparound.
    package func advanced(by count: Int) -> VP8PictureID {
        VP8PictureID(UInt16(truncatingIfNeeded: Int(value) &+ count), width: width)
    }

    /// Returns the number of frames from another picture ID to this one, negative if this one is earlier; both must
    /// have the same width.
    package func distance(from earlier: VP8PictureID) -> Int {
        let difference = Int((value &- earlier.value) & Self.mask(width))
        let half = 1 << (width.rawValue - 1)
        return difference >= half ? difference - 2 * half : difference
    }

    /// The size in a descriptor in bytes.
    package var size: Int { width == .short ? 1 : 2 }
}
