package import PCastCore

/// A message between a platform and the program that transcodes the AAC of publishers to Opus.
package struct TranscodingMessage: Hashable, Sendable {
    /// The kind of a message, and its first byte.
    package enum Kind: UInt8, Sendable {
        /// The AudioSpecificConfig of the following frames.
        case configuration = 1
        /// A frame of AAC. Its time is in nanoseconds.
        case frame = 2
        /// A packet of Opus. Its time is in units of 1/48,000 s.
        case packet = 3
        /// The stream has ended.
        case end = 4
    }

    /// The kind.
    package var kind: Kind
    /// The number of the stream, which is unique in a process.
    package var stream: UInt32
    /// The media time, in the unit of the kind; 0 for a configuration and an end.
    package var time: Int64
    /// The time of capture; the epoch for a configuration and an end.
    package var captureTime: WallTime
    /// The data of the kind.
    package var bytes: [UInt8]

    private static let headerSize = 21

    /// Creates a message.
    package init(_ kind: Kind, of stream: UInt32, time: Int64, captureTime: WallTime, bytes: [UInt8]) {
        (self.kind, self.stream, self.time, self.captureTime, self.bytes) = (kind, stream, time, captureTime, bytes)
    }

    /// Creates the message of a configuration.
    package static func configuration(_ bytes: [UInt8], of stream: UInt32) -> TranscodingMessage {
        TranscodingMessage(
            .configuration, of: stream, time: 0, captureTime: WallTime(nanosecondsSinceEpoch: 0), bytes: bytes)
    }

    /// Creates the message of an end.
    package static func end(of stream: UInt32) -> TranscodingMessage {
        TranscodingMessage(.end, of: stream, time: 0, captureTime: WallTime(nanosecondsSinceEpoch: 0), bytes: [])
    }

    /// Parses a message; nil if it is malformed.
    package init?(encoded: [UInt8]) {
        guard encoded.count >= Self.headerSize, let kind = Kind(rawValue: encoded[0]) else { return nil }
        self.kind = kind
        stream = UInt32(truncatingIfNeeded: Self.integer(encoded[1..<5]))
        time = Self.integer(encoded[5..<13])
        captureTime = WallTime(nanosecondsSinceEpoch: Self.integer(encoded[13..<21]))
        bytes = Array(encoded[Self.headerSize...])
    }

    /// The encoded message.
    package var encoded: [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(Self.headerSize + bytes.count)
        encoded.append(kind.rawValue)
        withUnsafeBytes(of: stream.bigEndian) { encoded.append(contentsOf: $0) }
        withUnsafeBytes(of: time.bigEndian) { encoded.append(contentsOf: $0) }
        withUnsafeBytes(of: captureTime.nanosecondsSinceEpoch.bigEndian) { encoded.append(contentsOf: $0) }
        encoded.append(contentsOf: bytes)
        return encoded
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
