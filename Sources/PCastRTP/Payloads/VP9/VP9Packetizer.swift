package import PCastCore

/// Divides a VP9 frame into RTP payloads of equal size in non-flexible mode without layers (RFC 9628).
package struct VP9Packetizer {
    private let bytes: ByteView
    /// The picture ID; nil for none.
    private let pictureID: UInt16?
    /// The size of each fragment except the last in bytes.
    private let fragmentSize: Int
    /// The bit P of all descriptors.
    private let predictedBit: UInt8
    /// The offset of the next fragment.
    private var offset = 0

    /// Creates a packetizer for a frame.
    ///
    /// - Parameters:
    ///   - frame: The frame or superframe, which must be valid until ``next(into:)`` has returned nil. An empty frame
    ///     has no payload.
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
        predictedBit = VP9FrameHeader.isKeyFrame(frame) ? 0 : VP9PayloadDescriptor.interPredictedBit
        let maximumSize = maximumPayloadSize - (pictureID == nil ? 1 : 3)
        fragmentSize = frame.isEmpty ? 0 : FragmentPlan(total: frame.count, maximumSize: maximumSize).size
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard offset < bytes.count else { return nil }
        let end = min(offset + fragmentSize, bytes.count)
        var length = 1
        buffer[0] =
            predictedBit | (offset == 0 ? VP9PayloadDescriptor.startBit : 0)
            | (end == bytes.count ? VP9PayloadDescriptor.endBit : 0)
        if let pictureID {
            buffer[0] |= VP9PayloadDescriptor.pictureIDBit
            buffer[1] = VP9PayloadDescriptor.longPictureIDBit | UInt8(truncatingIfNeeded: pictureID >> 8)
            buffer[2] = UInt8(truncatingIfNeeded: pictureID)
            length = 3
        }
        buffer.extracting(length...).copyMemory(from: bytes.extracting(offset..<end))
        length += end - offset
        offset = end
        return PayloadPacket(length: length, isLast: end == bytes.count)
    }
}

/// Assembles VP9 frames from RTP payloads (RFC 9628).
///
/// The frames of several spatial layers become a superframe with an index (VP9 bitstream specification, annex B), so
/// that a decoder can separate them.
package struct VP9Depacketizer: Sendable {
    /// The maximum number of frames in a superframe.
    private static let maximumLayerCount = 8

    /// Whether nothing of the frame was lost or dropped.
    private var isIntact = true
    /// Whether the frame begins with a key frame.
    private var isKeyFrame = false
    /// Whether the frame of the current layer is incomplete.
    private var isOpen = false
    /// The ends of the complete frames of layers in the bytes of the picture.
    private var ends = SIMD8<Int32>()
    /// The number of complete frames.
    private var frameCount = 0

    /// The number of payloads that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends a payload. It must begin the frame of a layer if the frame before it is complete, and must not
    /// otherwise.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        guard let descriptor = VP9PayloadDescriptor.parse(payload), descriptor.size < payload.count,
            descriptor.startsFrame != isOpen, frameCount < Self.maximumLayerCount,
            let end = Int32(exactly: bytes.count + payload.count - descriptor.size)
        else {
            malformedUnits += 1
            isIntact = false
            return
        }
        if bytes.isEmpty { isKeyFrame = descriptor.keyFrame(in: payload) != nil }
        bytes.append(contentsOf: payload.extracting(descriptor.size..<payload.count))
        isOpen = !descriptor.endsFrame
        guard !isOpen else { return }
        ends[frameCount] = end
        frameCount += 1
    }

    /// Finishes the picture. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer { (isIntact, isKeyFrame, isOpen, frameCount) = (true, false, false, 0) }
        guard isIntact, !isOpen, frameCount > 0 else { return nil }
        if frameCount > 1 { appendIndex(to: &bytes) }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasSlice: true)
    }

    /// Appends the superframe index: the sizes of the frames, little-endian with four bytes each, between two marker
    /// bytes.
    private func appendIndex(to bytes: inout [UInt8]) {
        let marker: UInt8 = 0xC0 | 3 << 3 | UInt8(frameCount - 1)
        bytes.append(marker)
        var start: Int32 = 0
        for index in 0..<frameCount {
            let size = UInt32(ends[index] - start)
            for shift in stride(from: 0 as UInt32, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: size >> shift))
            }
            start = ends[index]
        }
        bytes.append(marker)
    }
}
