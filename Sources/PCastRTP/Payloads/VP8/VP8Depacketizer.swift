/// Puts VP8 frames together from RTP payloads (RFC 7741).
public struct VP8Depacketizer: Sendable {
    private var isIntact = true
    private var isKeyFrame = false
    private var isEmpty = true

    /// Payloads dropped because they break the payload format.
    public private(set) var malformedUnits = 0

    public init() {}

    /// Appends the part of the frame that `payload` carries. The first of a frame has to begin it.
    public mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        guard let descriptor = VP8PayloadDescriptor.parse(payload), descriptor.size < payload.count,
            descriptor.startsFrame == isEmpty
        else {
            malformedUnits += 1
            isIntact = false
            return
        }
        if isEmpty { isKeyFrame = descriptor.startsKeyFrame }
        isEmpty = false
        payload.extracting(descriptor.size..<payload.count).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Says that packets before the next one are lost: the frame can not be decoded.
    public mutating func packetsLost() { isIntact = false }

    /// Ends the frame; nil when it can not be decoded.
    public mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer { (isIntact, isKeyFrame, isEmpty) = (true, false, true) }
        guard isIntact, !isEmpty else { return nil }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasPicture: true)
    }
}
