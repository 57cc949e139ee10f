package import PCastCore

/// A message between a platform and the program that transcodes the AAC of a publisher to Opus.
package struct TranscodingMessage: Hashable, Sendable {
    /// The kind of a message, and its first byte.
    package enum Kind: UInt8, Sendable {
        /// The AudioSpecificConfig of the following frames.
        case configuration = 1
        /// A frame of AAC. Its time is in nanoseconds.
        case frame = 2
        /// A packet of Opus. Its time is in units of 1/48,000 s.
        case packet = 3
    }

    /// The kind.
    package var kind: Kind
    /// The media time, in the unit of the kind; 0 for a configuration.
    package var time: Int64
    /// The time of capture; the epoch for a configuration.
    package var captureTime: WallTime
    /// The data of the kind.
    package var bytes: [UInt8]

    private static let headerSize = 17

    /// Creates a message.
    package init(_ kind: Kind, time: Int64, captureTime: WallTime, bytes: [UInt8]) {
        (self.kind, self.time, self.captureTime, self.bytes) = (kind, time, captureTime, bytes)
    }

    /// Creates the message of a configuration.
    package static func configuration(_ bytes: [UInt8]) -> TranscodingMessage {
        TranscodingMessage(.configuration, time: 0, captureTime: WallTime(nanosecondsSinceEpoch: 0), bytes: bytes)
    }

    /// Parses a message; nil if it is malformed.
    package init?(encoded: [UInt8]) {
        guard encoded.count >= Self.headerSize, let kind = Kind(rawValue: encoded[0]) else { return nil }
        self.kind = kind
        time = Self.integer(encoded[1..<9])
        captureTime = WallTime(nanosecondsSinceEpoch: Self.integer(encoded[9..<17]))
        bytes = Array(encoded[Self.headerSize...])
    }

    /// The encoded message.
    package var encoded: [UInt8] {
        [kind.rawValue] + Self.bytes(time) + Self.bytes(captureTime.nanosecondsSinceEpoch) + bytes
    }

    private static func bytes(_ value: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * Int64($0))) }
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
