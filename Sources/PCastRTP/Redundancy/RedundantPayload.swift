/// A payload of redundant audio data (RFC 2198): a packet's own data, and that of packets before it once more.
///
/// It holds places and no bytes. What is behind them is a peer's, so `init` checks every length before anything is read.
public struct RedundantPayload: Hashable, Sendable {
    /// The data of one packet.
    public struct Block: Hashable, Sendable {
        /// Of the data, not of the packet that carries it.
        public var payloadType: UInt8
        /// How much earlier its timestamp is than the packet's, in ticks.
        public var timestampOffset: UInt32
        /// Where the data lies in the packet.
        public var range: Range<Int>
    }

    /// The size of the header of a redundant block, and of the packet's own, which comes last (RFC 2198, section 3).
    public static let blockHeaderSize = 4
    public static let primaryHeaderSize = 1

    /// What the header's fields hold: 14 bits of offset, 10 of length.
    public static let maximumTimestampOffset: UInt32 = (1 << 14) - 1
    public static let maximumBlockSize = (1 << 10) - 1

    /// Further blocks make a packet malformed: nobody repeats a packet of 20 ms more often, for the offset's bits do not
    /// reach so far.
    public static let maximumBlockCount = 16

    /// How many packets are repeated.
    public let redundantCount: Int

    /// The packet's own data.
    public let primary: Block

    private let start: Int
    private let dataStart: Int

    /// Reads the headers of the payload at `range` of a packet; nil when they run past its end.
    public init?(_ packet: Span<UInt8>, payload range: Range<Int>) {
        guard range.lowerBound >= 0, range.upperBound <= packet.count else { return nil }
        var cursor = range.lowerBound
        var count = 0
        var size = 0
        while cursor < range.upperBound, packet[cursor] & 0x80 != 0 {
            guard cursor + Self.blockHeaderSize <= range.upperBound, count < Self.maximumBlockCount else { return nil }
            size += Int(packet.bigEndian16(at: cursor + 2) & 0x3FF)
            cursor += Self.blockHeaderSize
            count += 1
        }
        guard cursor < range.upperBound else { return nil }
        dataStart = cursor + Self.primaryHeaderSize
        guard dataStart + size <= range.upperBound else { return nil }
        start = range.lowerBound
        redundantCount = count
        primary = Block(
            payloadType: packet[cursor] & 0x7F, timestampOffset: 0, range: dataStart + size..<range.upperBound)
    }

    /// What is repeated, the newest at 0.
    ///
    /// - Parameter packet: the one that this was read from.
    public func redundant(_ index: Int, in packet: Span<UInt8>) -> Block {
        precondition((0..<redundantCount).contains(index), "no such block")
        let wanted = redundantCount - 1 - index
        var offset = dataStart
        for block in 0..<wanted {
            offset += Int(packet.bigEndian16(at: start + block * Self.blockHeaderSize + 2) & 0x3FF)
        }
        let header = start + wanted * Self.blockHeaderSize
        let fields = packet.bigEndian32(at: header)
        return Block(
            payloadType: packet[header] & 0x7F, timestampOffset: fields >> 10 & Self.maximumTimestampOffset,
            range: offset..<offset + Int(fields & 0x3FF))
    }

    /// Writes the header of a redundant block of at most `maximumBlockSize` bytes.
    static func writeHeader(
        payloadType: UInt8, timestampOffset: UInt32, size: Int, into buffer: UnsafeMutableRawBufferPointer,
        at position: Int
    ) {
        precondition((1...maximumTimestampOffset).contains(timestampOffset) && size <= maximumBlockSize)
        buffer[position] = 0x80 | payloadType
        buffer.storeBigEndian24(timestampOffset << 10 | UInt32(size), at: position + 1)
    }
}
