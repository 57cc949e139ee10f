import PCastCore

/// A payload with redundant audio data: the data of the packet itself, and repetitions of previous packets (RFC 2198).
///
/// It stores ranges instead of bytes. All lengths are checked by the initializer, because the data is from the network.
package struct RedundantPayload: Hashable, Sendable {
    /// The data of one packet.
    package struct Block: Hashable, Sendable {
        /// The payload type of the data.
        package var payloadType: UInt8
        /// The difference between the timestamps of the packet and the data in ticks.
        package var timestampOffset: UInt32
        /// The range of the data in the packet.
        package var range: Range<Int>
    }

    /// The size of the header of a redundant block in bytes (RFC 2198, section 3).
    package static let blockHeaderSize = 4
    /// The size of the header of the packet's own data, which is the last header, in bytes.
    package static let primaryHeaderSize = 1

    /// The maximum timestamp offset, which has 14 bits.
    package static let maximumTimestampOffset: UInt32 = (1 << 14) - 1
    /// The maximum size of a redundant block in bytes; its length has 10 bits.
    package static let maximumBlockSize = (1 << 10) - 1

    /// The maximum number of redundant blocks; a packet with more is malformed. With packets of 20 ms the timestamp
    /// offset does not allow more.
    package static let maximumBlockCount = 16

    /// The number of redundant blocks.
    package let redundantCount: Int

    /// The data of the packet itself.
    package let primary: Block

    /// The offset of the first header in the packet.
    private let start: Int
    /// The offset of the first data in the packet.
    private let dataStart: Int

    /// Parses the headers in a range of a packet. Returns nil if they exceed the payload.
    package init?(_ packet: Span<UInt8>, payload range: Range<Int>) {
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

    /// Returns a redundant block; index 0 is the newest.
    ///
    /// - Parameters:
    ///   - index: The index, less than ``redundantCount``.
    ///   - packet: The packet from which the payload was parsed.
    /// - Returns: The block.
    package func redundant(_ index: Int, in packet: Span<UInt8>) -> Block {
        precondition((0..<redundantCount).contains(index), "the block does not exist")
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

    /// Writes the header of a redundant block of at most ``maximumBlockSize`` bytes.
    static func writeHeader(
        payloadType: UInt8, timestampOffset: UInt32, size: Int, into buffer: MutableByteView,
        at position: Int
    ) {
        precondition((1...maximumTimestampOffset).contains(timestampOffset) && size <= maximumBlockSize)
        buffer[position] = 0x80 | payloadType
        buffer.storeBigEndian24(timestampOffset << 10 | UInt32(size), at: position + 1)
    }
}
