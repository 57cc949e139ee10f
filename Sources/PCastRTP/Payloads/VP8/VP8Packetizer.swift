/// Cuts a VP8 frame into RTP payloads of one size (RFC 7741), all as partition 0: a receiver that does not decode
/// needs no more than where a frame starts.
public struct VP8Packetizer {
    private let bytes: UnsafeRawBufferPointer
    private let pictureID: UInt16?
    private let fragmentSize: Int
    private var offset = 0

    /// - Parameters:
    ///   - frame: valid until `next` has answered nil. An empty one gives no payload.
    ///   - maximumPayloadSize: of one RTP payload in bytes, the descriptor included.
    ///   - pictureID: its low 15 bits are sent; nil sends none.
    public init(
        frame: UnsafeRawBufferPointer,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, pictureID: UInt16?
    ) {
        precondition(maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "payload limit too small")
        bytes = frame
        self.pictureID = pictureID
        let room = maximumPayloadSize - (pictureID == nil ? 1 : 4)
        fragmentSize = frame.isEmpty ? 0 : FragmentPlan(total: frame.count, maximumSize: room).size
    }

    /// Writes the next payload to the beginning of `buffer`, which has room for the largest; nil after the last.
    public mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
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
