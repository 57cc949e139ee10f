/// Walks over the packets of an RTCP datagram, compound or reduced-size: any type may come first (RFC 5506, RTCP4).
public struct RTCPReader: Sendable {
    private var cursor = 0

    /// The walk ended at a packet that is not RTCP or runs past the datagram's end; what came before it stands.
    public private(set) var isMalformed = false

    public init() {}

    /// The next packet of the datagram, which must be the same at each call; nil at its end.
    ///
    /// A packet is at least its own four bytes, so the walk always moves on.
    public mutating func next(in datagram: Span<UInt8>) -> RTCPPacket? {
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

    private mutating func stop() -> RTCPPacket? {
        isMalformed = true
        return nil
    }
}
