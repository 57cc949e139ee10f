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
