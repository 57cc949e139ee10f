/// An RTP payload that a packetizer wrote.
public struct PayloadPacket: Hashable, Sendable {
    /// The size of the payload in bytes.
    public let length: Int

    /// Whether the payload is the last of its frame; for video its packet has the marker bit.
    public let isLast: Bool

    /// Creates the description of a payload.
    public init(length: Int, isLast: Bool) {
        self.length = length
        self.isLast = isLast
    }
}
