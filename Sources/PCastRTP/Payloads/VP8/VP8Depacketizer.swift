/// Assembles VP8 frames from RTP payloads (RFC 7741).
package struct VP8Depacketizer: Sendable {
    /// Whether nothing of the frame was lost or dropped.
    private var isIntact = true
    /// Whether the frame is a key frame.
    private var isKeyFrame = false
    /// Whether nothing was appended to the frame.
    private var isEmpty = true

    /// The number of payloads that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends a payload. The first one must begin the frame, and others must not.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
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

    /// Marks packets before the next payload as lost, so that the frame cannot be decoded.
    package mutating func packetsLost() { isIntact = false }

    /// Finishes the frame. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer { (isIntact, isKeyFrame, isEmpty) = (true, false, true) }
        guard isIntact, !isEmpty else { return nil }
        return DepacketizedFrame(isKeyFrame: isKeyFrame, hasSlice: true)
    }
}
