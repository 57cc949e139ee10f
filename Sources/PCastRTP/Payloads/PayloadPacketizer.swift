public import PCastMedia

/// Cuts one encoded frame into RTP payloads, whatever its codec.
///
/// It refers to the frame's bytes and does not own them: they stay valid until `next` has answered nil. Nothing is
/// allocated.
public enum PayloadPacketizer {
    case h264(H264Packetizer)
    case vp8(VP8Packetizer)
    case opus(OpusPacketizer)

    /// What fits UDP payloads of 1200 bytes beside header, extensions, SRTP tag and the two bytes of RTX (RTP9).
    public static let defaultMaximumPayloadSize = 1100

    /// The smallest limit that every codec can be cut to.
    public static let smallestMaximumPayloadSize = 16

    /// - Parameters:
    ///   - bytes: H.264: an access unit in Annex B. VP8: a frame. Opus: a packet.
    ///   - maximumPayloadSize: of one RTP payload in bytes, payload descriptors included.
    ///   - pictureID: for VP8, the 15-bit number of the picture; nil sends none.
    public init(
        codec: Codec, bytes: UnsafeRawBufferPointer,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, pictureID: UInt16? = nil
    ) {
        switch codec {
        case .h264:
            self = .h264(H264Packetizer(accessUnit: bytes, maximumPayloadSize: maximumPayloadSize))
        case .vp8:
            self = .vp8(VP8Packetizer(frame: bytes, maximumPayloadSize: maximumPayloadSize, pictureID: pictureID))
        case .opus:
            self = .opus(OpusPacketizer(packet: bytes))
        }
    }

    /// Writes the next payload to the beginning of `buffer`, which has room for the largest; nil after the last.
    public mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
        switch self {
        case .h264(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .h264(packetizer)
            return packet
        case .vp8(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .vp8(packetizer)
            return packet
        case .opus(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .opus(packetizer)
            return packet
        }
    }
}
