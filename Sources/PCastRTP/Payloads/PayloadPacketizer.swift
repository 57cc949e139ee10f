package import PCastCore

/// Divides an encoded frame into RTP payloads.
///
/// It refers to the bytes of the frame, which must be valid until ``next(into:)`` has returned nil. It allocates
/// nothing.
package enum PayloadPacketizer {
    /// H.264 (RFC 6184).
    case h264(H264Packetizer)
    /// VP8 (RFC 7741).
    case vp8(VP8Packetizer)
    /// VP9 (RFC 9628).
    case vp9(VP9Packetizer)
    /// AV1 (AV1 RTP payload format).
    case av1(AV1Packetizer)
    /// H.265 (RFC 7798).
    case h265(H265Packetizer)
    /// Opus (RFC 7587).
    case opus(OpusPacketizer)

    /// The default maximum size of a payload in bytes. With header, extensions, SRTP tag and the two bytes of RTX it
    /// fits in a UDP payload of 1200 bytes.
    package static let defaultMaximumPayloadSize = 1100

    /// The minimum of the maximum payload size in bytes.
    package static let smallestMaximumPayloadSize = 16

    /// Creates a packetizer for a frame.
    ///
    /// - Parameters:
    ///   - codec: The codec.
    ///   - bytes: An access unit of H.264 or H.265 in Annex B format, a frame of VP8 or VP9, a temporal unit of AV1 in
    ///     the low-overhead format, or an Opus packet.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes, with its descriptor; ignored for Opus.
    ///   - pictureID: The picture ID of a VP8 or VP9 frame, 15 bits; nil for none.
    package init(
        codec: Codec, bytes: ByteView,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, pictureID: UInt16? = nil
    ) {
        switch codec {
        case .h264:
            self = .h264(H264Packetizer(accessUnit: bytes, maximumPayloadSize: maximumPayloadSize))
        case .vp8:
            self = .vp8(VP8Packetizer(frame: bytes, maximumPayloadSize: maximumPayloadSize, pictureID: pictureID))
        case .vp9:
            self = .vp9(VP9Packetizer(frame: bytes, maximumPayloadSize: maximumPayloadSize, pictureID: pictureID))
        case .av1:
            self = .av1(AV1Packetizer(temporalUnit: bytes, maximumPayloadSize: maximumPayloadSize))
        case .h265:
            self = .h265(H265Packetizer(accessUnit: bytes, maximumPayloadSize: maximumPayloadSize))
        case .opus:
            self = .opus(OpusPacketizer(packet: bytes))
        }
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        switch self {
        case .h264(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .h264(packetizer)
            return packet
        case .vp8(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .vp8(packetizer)
            return packet
        case .vp9(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .vp9(packetizer)
            return packet
        case .av1(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .av1(packetizer)
            return packet
        case .h265(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .h265(packetizer)
            return packet
        case .opus(var packetizer):
            let packet = packetizer.next(into: buffer)
            self = .opus(packetizer)
            return packet
        }
    }
}

/// An RTP payload that a packetizer wrote.
package struct PayloadPacket: Hashable, Sendable {
    /// The size of the payload in bytes.
    package let length: Int

    /// Whether the payload is the last of its frame; for video its packet has the marker bit.
    package let isLast: Bool

    /// Creates the description of a payload.
    package init(length: Int, isLast: Bool) {
        self.length = length
        self.isLast = isLast
    }
}

/// The division of data that is larger than a packet: fragments of equal size, except that the last may be shorter.
///
/// Consecutive packets of equal size are sent with one system call (`UDP_SEGMENT`), and the last fragment does not
/// become tiny.
struct FragmentPlan {
    /// The size of each fragment except the last in bytes.
    let size: Int

    /// Divides a number of bytes into fragments of at most a size.
    init(total: Int, maximumSize: Int) {
        precondition(total > 0 && maximumSize > 0, "the payload must not be empty, and a fragment must fit")
        let count = (total + maximumSize - 1) / maximumSize
        size = (total + count - 1) / count
    }
}
