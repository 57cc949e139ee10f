/// The AV1CodecConfigurationRecord, the header of AV1 in MP4 and FLV (AV1 in ISO base media file format, section 2.3).
package struct AV1DecoderConfiguration: Hashable, Sendable {
    /// The unit with the sequence header, which has a size field; empty if the record does not contain it.
    package let sequenceHeader: [UInt8]

    /// The size of the record before its units in bytes.
    private static let fixedSize = 4
    /// The first byte: the marker bit and version 1.
    private static let version: UInt8 = 0x81

    /// Parses a record. Returns nil for anything else, also if it is truncated.
    package init?(_ record: ByteView) {
        guard record.count >= Self.fixedSize, record[0] == Self.version else { return nil }
        let units = record.extracting(Self.fixedSize..<record.count)
        var reader = AV1UnitReader(units)
        var header: [UInt8] = []
        while let unit = reader.next() {
            // Without a size field, the unit could not precede others.
            if unit.type == AV1Unit.sequenceHeader, unit.hasSize, header.isEmpty {
                header = Array(units.extracting(unit.range))
            }
        }
        guard !reader.isMalformed else { return nil }
        sequenceHeader = header
    }

    /// Returns the units of a temporal unit without its delimiters, and with the sequence header if decoding can begin with
    /// it (AV1 bitstream specification, section 7.5).
    ///
    /// - Parameter temporalUnit: The temporal unit in the low-overhead format.
    /// - Returns: The units, and whether a shown key frame is among them; nil if there are none or a size is invalid.
    package func units(of temporalUnit: ByteView) -> (bytes: [UInt8], isKeyFrame: Bool)? {
        var reader = AV1UnitReader(temporalUnit)
        var (isKeyFrame, hasSequenceHeader) = (false, false)
        while let unit = reader.next() {
            switch unit.type {
            case AV1Unit.sequenceHeader: hasSequenceHeader = true
            case AV1Unit.frame, AV1Unit.frameHeader:
                isKeyFrame = isKeyFrame || AV1Unit.isKeyFrame(temporalUnit.extracting(unit.contents))
            default: break
            }
        }
        guard !reader.isMalformed else { return nil }
        let missing = isKeyFrame && !hasSequenceHeader ? sequenceHeader : []
        var bytes: [UInt8] = []
        bytes.reserveCapacity(missing.count + temporalUnit.count)
        reader = AV1UnitReader(temporalUnit)
        bytes += missing
        while let unit = reader.next() {
            if unit.type != AV1Unit.temporalDelimiter { bytes += temporalUnit.extracting(unit.range) }
        }
        return bytes.isEmpty ? nil : (bytes, isKeyFrame)
    }
}

/// An open bitstream unit (OBU) of AV1 in the low-overhead format (AV1 bitstream specification, section 5.3).
package struct AV1Unit: Hashable, Sendable {
    /// The type of a sequence header.
    package static let sequenceHeader: UInt8 = 1
    /// The type of a temporal delimiter.
    package static let temporalDelimiter: UInt8 = 2
    /// The type of a frame header without tiles.
    package static let frameHeader: UInt8 = 3
    /// The type of a frame header with tiles.
    package static let frame: UInt8 = 6

    /// The type.
    package let type: UInt8
    /// Whether the unit states its size. Without it, the unit ends with the data.
    package let hasSize: Bool
    /// The range of the unit with its header.
    package let range: Range<Int>
    /// The range after the header and the size.
    package let contents: Range<Int>

    /// Returns whether the contents of a frame header begin a shown key frame (AV1 bitstream specification, section 5.9.2).
    package static func isKeyFrame(_ contents: ByteView) -> Bool {
        // `show_existing_frame`, two bits of `frame_type` and `show_frame`.
        contents.first.map { $0 & 0xF0 == 0x10 } ?? false
    }
}

/// Reads the units of AV1 in the low-overhead format, one after another.
package struct AV1UnitReader {
    private static let forbiddenBit: UInt8 = 0x80
    private static let extensionBit: UInt8 = 0x04
    private static let sizeBit: UInt8 = 0x02
    /// The maximum number of bytes of a size (AV1 bitstream specification, section 4.10.5).
    private static let maximumSizeBytes = 8

    private let bytes: ByteView
    private var offset = 0

    /// Whether the data after the last unit is no unit.
    package private(set) var isMalformed = false

    /// Creates a reader.
    ///
    /// - Parameter bytes: The data, which must be valid until ``next()`` has returned nil.
    package init(_ bytes: ByteView) { self.bytes = bytes }

    /// Returns the next unit; nil after the last, and if the data is malformed.
    package mutating func next() -> AV1Unit? {
        guard offset < bytes.count, !isMalformed else { return nil }
        let header = bytes[offset]
        var start = offset + (header & Self.extensionBit == 0 ? 1 : 2)
        var end = bytes.count
        guard header & Self.forbiddenBit == 0, start <= end else { return fail() }
        if header & Self.sizeBit != 0 {
            guard let size = readSize(at: &start), size <= end - start else { return fail() }
            end = start + size
        }
        defer { offset = end }
        return AV1Unit(
            type: header >> 3 & 0x0F, hasSize: header & Self.sizeBit != 0, range: offset..<end, contents: start..<end)
    }

    /// Reads a number in the format leb128, and moves the offset after it. Returns nil if it is truncated or too large.
    private func readSize(at offset: inout Int) -> Int? {
        var value = 0
        for index in 0..<Self.maximumSizeBytes {
            guard offset < bytes.count else { return nil }
            let byte = bytes[offset]
            offset += 1
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    private mutating func fail() -> AV1Unit? {
        isMalformed = true
        return nil
    }
}
