/// Divides a VP8 frame into RTP payloads of equal size (RFC 7741). All have partition index 0, because receivers other
/// than decoders only need to know where a frame begins.
package struct VP8Packetizer {
    private let bytes: UnsafeRawBufferPointer
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
        frame: UnsafeRawBufferPointer,
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
    package mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
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
        UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
        length += end - offset
        offset = end
        return PayloadPacket(length: length, isLast: end == bytes.count)
    }
}
