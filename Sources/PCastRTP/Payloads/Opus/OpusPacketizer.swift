/// Writes an Opus packet as one RTP payload (RFC 7587, section 4.2).
package struct OpusPacketizer {
    private let packet: UnsafeRawBufferPointer
    /// Whether the payload was written.
    private var isDone: Bool

    /// Creates a packetizer for a packet.
    ///
    /// - Parameter packet: The packet, which must be valid until ``next(into:)`` has returned nil. An empty packet has
    ///   no payload.
    package init(packet: UnsafeRawBufferPointer) {
        self.packet = packet
        isDone = packet.isEmpty
    }

    /// Writes the payload at the beginning of a buffer of at least the packet's size. Returns nil the second time.
    package mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
        guard !isDone else { return nil }
        isDone = true
        buffer.copyMemory(from: packet)
        return PayloadPacket(length: packet.count, isLast: true)
    }
}
