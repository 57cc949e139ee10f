package import PCastCore

/// Divides a VP8 frame into RTP payloads of equal size (RFC 7741). All have partition index 0, because receivers other
/// than decoders only need to know where a frame begins.
package struct VP8Packetizer {
    private let bytes: ByteView
    /// The picture ID; nil for none.
    private let pictureID: UInt16?
    /// The size of each fragment except the last in bytes.
    private let fragmentSize: Int
    /// The offset of the next fragment.
    private var offset = 0

    /// Creates a packetizer for a frame.
    ///
    /// - Parameters:
    ///   - frame: The frame, which must be valid until ``next(into:)`` has returned nil. An empty frame has no payload.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes, with its descriptor.
    ///   - pictureID: The picture ID, 15 bits; nil for none.
    package init(
        frame: ByteView,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, pictureID: UInt16?
    ) {
        precondition(
            maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "the payload limit is too small")
        bytes = frame
        self.pictureID = pictureID
        let maximumSize = maximumPayloadSize - (pictureID == nil ? 1 : 4)
        fragmentSize = frame.isEmpty ? 0 : FragmentPlan(total: frame.count, maximumSize: maximumSize).size
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard offset < bytes.count else { return nil }
        var length = 1
        buffer[0] = offset == 0 ? VP8PayloadDescriptor.startBit : 0
        if let pictureID {
            buffer[0] |= VP8PayloadDescriptor.extensionBit
            buffer[1] = VP8PayloadDescriptor.pictureIDBit
            buffer[2] = VP8PayloadDescriptor.longPictureIDBit | UInt8(truncatingIfNeeded: pictureID >> 8)
            buffer[3] = UInt8(truncatingIfNeeded: pictureID)
            length = 4
        }
        let end = min(offset + fragmentSize, bytes.count)
        buffer.extracting(length...).copyMemory(from: bytes.extracting(offset..<end))
        length += end - offset
        offset = end
        return PayloadPacket(length: length, isLast: end == bytes.count)
    }
}

/// The header of a VP8 key frame (RFC 6386, section 9.1).
package struct VP8FrameHeader: Hashable, Sendable {
    /// The version of the bitstream, 0 to 3 for those that are defined.
    package let version: UInt8
    /// The size of the video.
    package let dimensions: Dimensions

    /// The format of the video.
    package var video: CodecParameters { CodecParameters(.vp8(version: version), dimensions: dimensions) }

    /// Parses a VP8 frame without payload descriptor. Returns nil if it does not begin a key frame or has no size.
    package init?(keyFrame frame: Span<UInt8>) {
        guard frame.count >= 10, frame[0] & 1 == 0, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else {
            return nil
        }
        // The upper two bits of width and height are a scaling hint.
        let width = Int(frame[6]) | Int(frame[7] & 0x3F) << 8
        let height = Int(frame[8]) | Int(frame[9] & 0x3F) << 8
        guard width > 0, height > 0 else { return nil }
        version = frame[0] >> 1 & 7
        dimensions = Dimensions(width: width, height: height)
    }
}
