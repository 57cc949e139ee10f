/// Returns Opus packets from RTP payloads; each payload is a packet (RFC 7587, section 4.2).
package struct OpusDepacketizer: Sendable {
    /// Whether the frame is a valid Opus packet.
    private var isIntact = false
    /// Whether nothing was appended to the frame.
    private var isEmpty = true

    /// The number of invalid packets.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends a payload, which must be the only one of its frame.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        isIntact = isEmpty && OpusTOC(payload) != nil
        isEmpty = false
        guard isIntact else {
            malformedUnits += 1
            return
        }
        payload.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Finishes the frame. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer {
            isIntact = false
            isEmpty = true
        }
        return isIntact ? DepacketizedFrame(isKeyFrame: true, hasSlice: true) : nil
    }
}
