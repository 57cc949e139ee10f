/// One RTP payload that a packetizer wrote.
public struct PayloadPacket: Hashable, Sendable {
    /// Bytes written.
    public let length: Int

    /// Whether it is the last of its frame, which is where the RTP marker bit goes for video.
    public let isLast: Bool

    public init(length: Int, isLast: Bool) {
        self.length = length
        self.isLast = isLast
    }
}
