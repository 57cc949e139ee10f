package import PCastCore

/// The picture ID of a VP8 or VP9 payload descriptor, which wraps around at its width of 7 or 15 bits (RFC 7741 and
/// RFC 9628, section 4.2).
package struct VPXPictureID: Hashable, Sendable {
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
    package func advanced(by count: Int) -> VPXPictureID {
        VPXPictureID(UInt16(truncatingIfNeeded: Int(value) &+ count), width: width)
    }

    /// Returns the number of frames from another picture ID to this one, negative if this one is earlier; both must
    /// have the same width.
    package func distance(from earlier: VPXPictureID) -> Int {
        let difference = Int((value &- earlier.value) & Self.mask(width))
        let half = 1 << (width.rawValue - 1)
        return difference >= half ? difference - 2 * half : difference
    }

    /// The size in a descriptor in bytes.
    package var size: Int { width == .short ? 1 : 2 }
}

/// The numbers of a frame in the payload descriptors of VP8 and VP9. They continue for a receiver when the stream
/// switches to another layer.
package struct VPXPictureNumbers: Hashable, Sendable {
    /// The picture ID; nil if absent.
    package var pictureID: VPXPictureID?
    /// The number of the last frame in the lowest temporal layer, modulo 256; nil if absent.
    package var tl0PictureIndex: UInt8?

    /// Reads the numbers of a payload. Returns nil if the codec has no descriptor with numbers, or it is truncated.
    package init?(_ codec: Codec, _ payload: Span<UInt8>) {
        switch codec {
        case .vp8:
            guard let descriptor = VP8PayloadDescriptor.parse(payload) else { return nil }
            (pictureID, tl0PictureIndex) = (descriptor.pictureID, descriptor.tl0PictureIndex)
        case .vp9:
            guard let descriptor = VP9PayloadDescriptor.parse(payload) else { return nil }
            (pictureID, tl0PictureIndex) = (descriptor.pictureID, descriptor.tl0PictureIndex)
        case .h264, .h265, .av1, .opus: return nil
        }
    }
}

/// The value that is added to the numbers of VP8 and VP9 frames, so that they continue after a switch to another layer.
public struct VPXPictureOffset: Hashable, Sendable {
    /// The value that is added to the picture ID.
    public var pictureID: UInt16 = 0
    /// The value that is added to the index in the lowest temporal layer.
    public var tl0PictureIndex: UInt8 = 0
    /// Whether the payloads are VP9 rather than VP8.
    private var isVP9 = false

    /// Creates an offset of zero.
    package init() {}

    /// Creates the offset that makes one frame follow another.
    ///
    /// - Parameters:
    ///   - last: The last numbers that the receiver got.
    ///   - next: The next original numbers from another layer.
    ///   - codec: The codec of both.
    package init(continuing last: VPXPictureNumbers, with next: VPXPictureNumbers, codec: Codec) {
        if let end = last.pictureID, let start = next.pictureID { pictureID = end.value &+ 1 &- start.value }
        if let end = last.tl0PictureIndex, let start = next.tl0PictureIndex { tl0PictureIndex = end &+ 1 &- start }
        isVP9 = codec == .vp9
    }

    /// Whether the numbers stay unchanged.
    @inlinable @inline(__always)
    public var isZero: Bool { pictureID == 0 && tl0PictureIndex == 0 }

    /// Returns the changed numbers.
    package func applied(to numbers: VPXPictureNumbers) -> VPXPictureNumbers {
        var changed = numbers
        changed.pictureID = numbers.pictureID.map { VPXPictureID($0.value &+ pictureID, width: $0.width) }
        changed.tl0PictureIndex = numbers.tl0PictureIndex.map { $0 &+ tl0PictureIndex }
        return changed
    }

    /// Copies a payload with changed numbers; its size does not change. A payload that violates the format is copied
    /// unchanged.
    package func copy(_ payload: ByteView, into buffer: MutableByteView) {
        buffer.copyMemory(from: payload)
        guard !isZero else { return }
        if isVP9 {
            VP9PayloadDescriptor.parse(payload.span)?.replaceNumbers(by: self, in: buffer)
        } else {
            VP8PayloadDescriptor.parse(payload.span)?.replaceNumbers(by: self, in: buffer)
        }
    }
}
