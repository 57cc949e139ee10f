/// Reads the packets of an RTCP datagram, which may be compound or reduced-size, so any type may come first (RFC 5506).
package struct RTCPReader: Sendable {
    private var cursor = 0

    /// Whether reading has ended at a packet that is not RTCP or is truncated. The packets before it are valid.
    package private(set) var isMalformed = false

    /// Creates a reader at the first packet.
    package init() {}

    /// Returns the next packet; nil at the end.
    ///
    /// - Parameter datagram: The datagram, the same for each call.
    /// - Returns: The packet.
    package mutating func next(in datagram: Span<UInt8>) -> RTCPPacket? {
        guard !isMalformed, cursor < datagram.count else { return nil }
        guard datagram.count - cursor >= 4, datagram[cursor] >> 6 == 2 else { return stop() }
        let start = cursor + 4
        let end = start + 4 * Int(datagram.bigEndian16(at: cursor + 2))
        guard end <= datagram.count else { return stop() }
        var bodyEnd = end
        if datagram[cursor] & 0x20 != 0 {
            let padding = Int(datagram[end - 1])
            guard padding > 0, padding <= end - start else { return stop() }
            bodyEnd -= padding
        }
        let packet = RTCPPacket(
            type: datagram[cursor + 1], count: datagram[cursor] & 0x1F, body: start..<bodyEnd, in: datagram)
        cursor = end
        return packet
    }

    /// Ends reading at a malformed packet.
    private mutating func stop() -> RTCPPacket? {
        isMalformed = true
        return nil
    }
}
