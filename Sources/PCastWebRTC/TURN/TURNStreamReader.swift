/// Splits a TCP or TLS stream of TURN into messages (RFC 8656, section 12.5): STUN messages, and channel data with
/// padding to four bytes.
package struct TURNStreamReader: Sendable {
    /// A message of the stream.
    package enum Frame: Hashable, Sendable {
        /// A STUN message.
        case message([UInt8])
        /// The data of a channel.
        case channelData(channel: UInt16, [UInt8])
    }

    /// The next part of the stream.
    package enum Next: Hashable, Sendable {
        /// A complete message.
        case frame(Frame)
        /// The message is incomplete.
        case incomplete
        /// The stream is malformed or has a message that is too large, and cannot be read any further.
        case broken
    }

    /// The maximum size of a message in bytes, for a datagram with attributes around it.
    package static let maximumFrameSize = 2048

    private var buffer: [UInt8] = []
    private var start = 0

    /// Creates a reader.
    package init() {}

    /// The number of buffered bytes. It is bounded if ``next()`` is called until it returns no frame.
    package var waiting: Int { buffer.count - start }

    /// Appends received bytes.
    package mutating func append(_ bytes: some Sequence<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next message, if it is complete, and removes it.
    package mutating func next() -> Next {
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

    /// Removes a number of bytes; nil if there are fewer.
    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard waiting >= count else { return nil }
        defer { start += count }
        return buffer[start..<start + count]
    }

    /// Returns whether a message carries a datagram, which may be dropped, rather than a request or response.
    package static func isData(_ frame: [UInt8]) -> Bool {
        frame.count >= 2 && (frame[0] >= 0x40 || (frame[0] == 0 && (frame[1] == 0x16 || frame[1] == 0x17)))
    }

    /// Returns channel data for a stream, with padding.
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
