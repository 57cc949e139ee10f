/// An Opus packet is an RTP payload as it stands (RFC 7587, section 4.2); it is never cut.
public struct OpusPacketizer {
    private let packet: UnsafeRawBufferPointer
    private var isDone: Bool

    /// - Parameter packet: valid until `next` has answered nil. An empty one gives no payload.
    public init(packet: UnsafeRawBufferPointer) {
        self.packet = packet
        isDone = packet.isEmpty
    }

    /// Writes the payload to the beginning of `buffer`, which is at least as large as the packet; nil the second time.
    public mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
        guard !isDone else { return nil }
        isDone = true
        buffer.copyMemory(from: packet)
        return PayloadPacket(length: packet.count, isLast: true)
    }
}
