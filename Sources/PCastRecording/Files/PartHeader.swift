import CZlib
package import PCastCore
import PCastPackaging

/// The header of a part in a file: a `uuid` box (ISO/IEC 14496-12, section 11.1), which other readers skip. The fragment
/// follows it.
///
/// Both checksums are CRC-32 (RFC 1952, section 8). A header that is right and a fragment that is right were written
/// completely, in whatever order the disk stored the pages of the file.
package struct PartHeader: Hashable, Sendable {
    /// The media sequence number of the segment.
    package var segment: Int64
    /// The index of the part in the segment.
    package var index: Int
    /// The capture time of the beginning of the segment.
    package var segmentStart: WallTime
    /// The duration of the part.
    package var duration: TimeSpan
    /// The discontinuity sequence number of the segment.
    package var discontinuity: Int64
    /// Whether the part contains a frame that can be decoded without others.
    package var isIndependent: Bool
    /// The bytes of the fragment; 0 for a gap.
    package var length: Int
    /// The checksum of the fragment.
    package var checksum: UInt32

    /// The bytes of a header.
    package static let size = 72
    /// The largest fragment, which bounds the memory of a reader.
    package static let maximumLength = 256 << 20
    /// The type of the box, a random UUID.
    private static let type: [UInt8] = [
        0x9B, 0x1C, 0x62, 0xE4, 0x0F, 0x5D, 0x4A, 0x37, 0xA8, 0x21, 0x5E, 0xD3, 0x70, 0xC6, 0x14, 0xBB,
    ]
    private static let independentFlag: UInt16 = 1

    /// Creates the header of a published part.
    init(_ published: PublishedPart) {
        segment = published.segment
        index = published.index
        segmentStart = published.segmentStart
        duration = published.part.duration
        discontinuity = published.discontinuity
        isIndependent = published.part.isIndependent
        length = published.part.bytes.count
        checksum = Checksum.of(published.part.bytes)
    }

    /// Reads a header. Returns nil if the bytes, at least ``size`` of them, do not begin with one that was written
    /// completely.
    package init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.size))
        guard bytes.count == Self.size, Self.number(bytes, 0, 4) == UInt64(Self.size),
            Array(bytes[4..<8]) == Array("uuid".utf8), Array(bytes[8..<24]) == Self.type,
            Self.number(bytes, 68, 4) == UInt64(Checksum.of(Array(bytes[..<68])))
        else { return nil }
        let flags = UInt16(truncatingIfNeeded: Self.number(bytes, 24, 2))
        index = Int(Self.number(bytes, 26, 2))
        segment = Int64(bitPattern: Self.number(bytes, 28, 8))
        segmentStart = WallTime(nanosecondsSinceEpoch: Int64(bitPattern: Self.number(bytes, 36, 8)))
        duration = .nanoseconds(Int64(bitPattern: Self.number(bytes, 44, 8)))
        discontinuity = Int64(bitPattern: Self.number(bytes, 52, 8))
        length = Int(Self.number(bytes, 60, 4))
        checksum = UInt32(truncatingIfNeeded: Self.number(bytes, 64, 4))
        isIndependent = flags & Self.independentFlag != 0
        // A file that somebody else made may have right checksums. Sums of its values must not overflow.
        guard segment >= 0, segment < 1 << 48, discontinuity >= 0, discontinuity < 1 << 48, duration >= .zero,
            duration < .seconds(86_400 as Int64), length <= Self.maximumLength,
            (0..<Int64.max / 2).contains(segmentStart.nanosecondsSinceEpoch)
        else { return nil }
    }

    /// The bytes of the header.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        func append(_ value: UInt64, _ count: Int) {
            for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
        }
        append(UInt64(Self.size), 4)
        bytes += Array("uuid".utf8)
        bytes += Self.type
        append(UInt64(isIndependent ? Self.independentFlag : 0), 2)
        append(UInt64(UInt16(clamping: index)), 2)
        append(UInt64(bitPattern: segment), 8)
        append(UInt64(bitPattern: segmentStart.nanosecondsSinceEpoch), 8)
        append(UInt64(bitPattern: duration.nanoseconds), 8)
        append(UInt64(bitPattern: discontinuity), 8)
        append(UInt64(UInt32(clamping: length)), 4)
        append(UInt64(checksum), 4)
        append(UInt64(Checksum.of(bytes)), 4)
        return bytes
    }

    /// Returns the number in network byte order at an offset.
    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// CRC-32 (RFC 1952, section 8).
enum Checksum {
    static func of(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
    }
}
