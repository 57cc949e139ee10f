/// Divides an H.264 access unit into RTP payloads (RFC 6184).
///
/// In packetization mode 1, consecutive units that fit in one packet are aggregated in a STAP-A, so that the parameter
/// sets precede the IDR picture with the same timestamp. Larger units are divided into FU-As of equal size. In mode 0
/// each NAL unit is a packet. Access unit delimiters and filler data are omitted, because a receiver does not need
/// them.
package struct H264Packetizer {
    /// The `packetization-mode` (RFC 6184, sections 6.2 and 6.3).
    package enum Mode: Int, Sendable {
        /// Each NAL unit is a packet.
        case singleUnit = 0
        /// Units may be aggregated or fragmented.
        case nonInterleaved = 1
    }

    private let bytes: UnsafeRawBufferPointer
    /// The maximum size of a payload in bytes.
    private let maximumPayloadSize: Int
    private let mode: Mode
    /// The reader of the NAL units.
    private var reader: AnnexBReader

    /// The next unit; the rest of it if ``fragmentSize`` is not 0.
    private var unit: Range<Int>?
    /// The header of the fragmented unit.
    private var unitHeader: UInt8 = 0
    /// The size of a fragment in bytes; 0 if no unit is being fragmented.
    private var fragmentSize = 0
    /// Whether the next fragment is the first.
    private var isFirstFragment = false

    /// The number of units that could not be sent: larger than a packet in mode 0, or of a type that RTP reserves.
    package private(set) var droppedUnits = 0

    /// Creates a packetizer for an access unit.
    ///
    /// - Parameters:
    ///   - accessUnit: The access unit in Annex B format, which must be valid until ``next(into:)`` has returned nil.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes.
    ///   - mode: The negotiated packetization mode.
    package init(
        accessUnit: UnsafeRawBufferPointer,
        maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize, mode: Mode = .nonInterleaved
    ) {
        precondition(
            maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "the payload limit is too small")
        bytes = accessUnit
        // The size of a unit in a STAP-A has 16 bits.
        self.maximumPayloadSize = min(maximumPayloadSize, Int(UInt16.max))
        self.mode = mode
        reader = AnnexBReader(accessUnit)
        advance()
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: UnsafeMutableRawBufferPointer) -> PayloadPacket? {
        guard let current = unit else { return nil }
        if fragmentSize > 0 { return nextFragment(of: current, into: buffer) }
        if current.count > maximumPayloadSize {
            beginFragments(of: current)
            return nextFragment(of: unit!, into: buffer)
        }
        advance()
        if mode == .nonInterleaved, let following = unit, fits(following, after: 3 + current.count) {
            return aggregate(startingWith: current, into: buffer)
        }
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[current]))
        return PayloadPacket(length: current.count, isLast: unit == nil)
    }

    /// Advances to the next unit that can be sent.
    private mutating func advance() {
        fragmentSize = 0
        while let candidate = reader.next() {
            let type = bytes[candidate.lowerBound] & H264NALUnit.typeMask
            if type == H264NALUnit.accessUnitDelimiter || type == H264NALUnit.fillerData { continue }
            if H264NALUnit.isSingle(type), mode != .singleUnit || candidate.count <= maximumPayloadSize {
                unit = candidate
                return
            }
            droppedUnits += 1
        }
        unit = nil
    }

    /// Returns whether a unit fits into a STAP-A after a number of bytes.
    private func fits(_ candidate: Range<Int>, after length: Int) -> Bool {
        length + 2 + candidate.count <= maximumPayloadSize
    }

    /// Writes a STAP-A (RFC 6184, section 5.7.1): its NRI is the maximum of its units, and its F bit is set if one of
    /// theirs is.
    private mutating func aggregate(
        startingWith first: Range<Int>, into buffer: UnsafeMutableRawBufferPointer
    ) -> PayloadPacket {
        var length = 1
        var reference: UInt8 = 0
        var forbidden: UInt8 = 0
        var current = first
        while true {
            let header = bytes[current.lowerBound]
            reference = max(reference, header & H264NALUnit.referenceMask)
            forbidden |= header & H264NALUnit.forbiddenBit
            buffer.storeBytes(of: UInt16(current.count).bigEndian, toByteOffset: length, as: UInt16.self)
            UnsafeMutableRawBufferPointer(rebasing: buffer[(length + 2)...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[current]))
            length += 2 + current.count
            guard let following = unit, fits(following, after: length) else { break }
            current = following
            advance()
        }
        buffer[0] = forbidden | reference | H264NALUnit.stapA
        return PayloadPacket(length: length, isLast: unit == nil)
    }

    /// Begins the fragmentation of a unit.
    private mutating func beginFragments(of whole: Range<Int>) {
        unitHeader = bytes[whole.lowerBound]
        unit = whole.dropFirst()
        fragmentSize = FragmentPlan(total: whole.count - 1, maximumSize: maximumPayloadSize - 2).size
        isFirstFragment = true
    }

    /// Writes an FU-A (RFC 6184, section 5.8).
    private mutating func nextFragment(
        of rest: Range<Int>, into buffer: UnsafeMutableRawBufferPointer
    ) -> PayloadPacket {
        let fragment = rest.prefix(fragmentSize)
        let isEnd = fragment.count == rest.count
        buffer[0] = unitHeader & ~H264NALUnit.typeMask | H264NALUnit.fuA
        buffer[1] =
            unitHeader & H264NALUnit.typeMask | (isFirstFragment ? H264NALUnit.fragmentStart : 0)
            | (isEnd ? H264NALUnit.fragmentEnd : 0)
        UnsafeMutableRawBufferPointer(rebasing: buffer[2...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[fragment]))
        isFirstFragment = false
        if isEnd { advance() } else { unit = fragment.upperBound..<rest.upperBound }
        return PayloadPacket(length: 2 + fragment.count, isLast: unit == nil)
    }
}

/// Iterates over the NAL units of a byte stream without copying (ITU-T H.264, annex B).
package struct AnnexBReader {
    private let bytes: UnsafeRawBufferPointer

    /// The offset of the next NAL unit, or the end.
    private var position: Int

    /// Creates a reader at the first NAL unit.
    ///
    /// - Parameter bytes: The byte stream, which must be valid while the reader is used.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 } ?? bytes.count
    }

    /// Returns the range of the next NAL unit without trailing zero bytes; nil after the last. Empty units are skipped.
    package mutating func next() -> Range<Int>? {
        while position < bytes.count {
            let start = position
            let code = Self.startCode(in: bytes, from: start)
            position = code.map { $0 + 3 } ?? bytes.count
            var end = code ?? bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start { return start..<end }
        }
        return nil
    }

    /// Returns the offset of the first start code, 00 00 01, at or after an offset.
    ///
    /// It tests eight bytes at a time: a start code cannot begin in a word without zero bytes, which most words of
    /// coded video are.
    private static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        let last = bytes.count - 3
        while index <= last {
            if index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 == 0 {
                    index += 8
                    continue
                }
            }
            let end = min(index + 8, last + 1)
            while index < end {
                if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 { return index }
                index += 1
            }
        }
        return nil
    }
}
