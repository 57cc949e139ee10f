/// Takes an Opus packet out of its RTP payload: the whole of it (RFC 7587, section 4.2).
public struct OpusDepacketizer: Sendable {
    private var isIntact = false
    private var isEmpty = true

    /// Packets that were no Opus.
    public private(set) var malformedUnits = 0

    public init() {}

    public mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        isIntact = isEmpty && OpusTOC(payload) != nil
        isEmpty = false
        guard isIntact else {
            malformedUnits += 1
            return
        }
        payload.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
    }

    /// Ends the frame; nil when it can not be decoded.
    public mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer {
            isIntact = false
            isEmpty = true
        }
        return isIntact ? DepacketizedFrame(isKeyFrame: true, hasPicture: true) : nil
    }
}
