/// Finds the messages in a TCP or TLS stream of TURN (RFC 8656, section 12.5): STUN messages as they are, and channel
/// data padded to four bytes.
public struct TURNStreamReader: Sendable {
    public enum Frame: Hashable, Sendable {
        case message([UInt8])
        case channelData(channel: UInt16, [UInt8])
    }

    /// What the stream holds next.
    public enum Next: Hashable, Sendable {
        case frame(Frame)
        case incomplete
        /// Neither a message nor channel data, or one larger than any of ours: nothing that follows can be understood.
        case broken
    }

    /// Bytes of a frame at most: a datagram of ours, and what stands around it.
    public static let maximumFrameSize = 2048

    private var buffer: [UInt8] = []
    private var start = 0

    public init() {}

    /// Bytes that wait for the rest of their frame; bounded, as `next` is called until it answers no frame.
    public var waiting: Int { buffer.count - start }

    public mutating func append(_ bytes: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    public mutating func next() -> Next {
        guard waiting >= 4 else { return .incomplete }
        let first = Int(buffer[start]) << 8 | Int(buffer[start + 1])
        let length = Int(buffer[start + 2]) << 8 | Int(buffer[start + 3])
        switch first >> 14 {
        case 0:
            guard length % 4 == 0, length + STUNMessage.headerSize <= Self.maximumFrameSize else { return .broken }
            return take(length + STUNMessage.headerSize).map { .frame(.message(Array($0))) } ?? .incomplete
        case 1 where first <= 0x4FFF:
            guard length + 4 <= Self.maximumFrameSize else { return .broken }
            guard let bytes = take((length + 4 + 3) & ~3) else { return .incomplete }
            return .frame(.channelData(channel: UInt16(first), Array(bytes.dropFirst(4).prefix(length))))
        default: return .broken
        }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard waiting >= count else { return nil }
        defer { start += count }
        return buffer[start..<start + count]
    }

    /// Whether a frame carries a datagram, which may get lost as any may, rather than something said of the allocation.
    public static func isData(_ frame: [UInt8]) -> Bool {
        frame.count >= 2 && (frame[0] >= 0x40 || (frame[0] == 0 && (frame[1] == 0x16 || frame[1] == 0x17)))
    }

    /// Channel data for a stream.
    static func channelData(_ channel: UInt16, _ bytes: [UInt8]) -> [UInt8] {
        precondition(bytes.count + 4 <= maximumFrameSize)
        var frame: [UInt8] = []
        frame.reserveCapacity(bytes.count + 7)
        frame += [UInt8(channel >> 8), UInt8(truncatingIfNeeded: channel)]
        frame += [UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)]
        frame += bytes
        while frame.count % 4 != 0 { frame.append(0) }
        return frame
    }
}
