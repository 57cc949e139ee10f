package import PCastCore

/// Constants of open bitstream units (AV1 bitstream specification, section 6.2), and the fields of their headers.
enum AV1OBU {
    static let sequenceHeader: UInt8 = 1
    static let temporalDelimiter: UInt8 = 2
    static let frameHeader: UInt8 = 3
    static let tileGroup: UInt8 = 4
    static let frame: UInt8 = 6
    static let tileList: UInt8 = 8
    static let padding: UInt8 = 15

    /// The bit of the header that must not be set.
    static let forbiddenBit: UInt8 = 0x80
    /// The bit of the header that marks an extension byte.
    static let extensionBit: UInt8 = 0x04
    /// The bit of the header that marks a size field.
    static let sizeBit: UInt8 = 0x02

    /// Returns the type of a unit from the first byte of its header.
    static func type(_ header: UInt8) -> UInt8 { header >> 3 & 0x0F }

    /// Returns the size of a header without the size field in bytes, from its first byte.
    static func headerSize(_ header: UInt8) -> Int { header & extensionBit == 0 ? 1 : 2 }

    /// Returns whether RTP payloads contain units of a type. The others are of no use to a receiver (AV1 RTP payload
    /// format, section 5).
    static func isSent(_ type: UInt8) -> Bool { type != temporalDelimiter && type != tileList && type != padding }

    /// Reads a number in the format leb128 of at most four bytes. Returns nil if it is truncated or longer.
    static func leb128(_ bytes: Span<UInt8>, at offset: Int) -> (value: Int, size: Int)? {
        var value = 0
        for index in 0..<4 {
            guard offset + index < bytes.count else { return nil }
            let byte = bytes[offset + index]
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return (value, index + 1) }
        }
        return nil
    }

    /// Returns the bytes of a number in the format leb128 in the lowest bytes, and how many there are.
    static func leb128(_ value: Int) -> (bytes: UInt64, size: Int) {
        var (rest, bytes, size) = (UInt64(value), 0 as UInt64, 0)
        while true {
            let byte = rest & 0x7F
            rest >>= 7
            bytes |= (rest > 0 ? byte | 0x80 : byte) << UInt64(8 * size)
            size += 1
            if rest == 0 || size == 8 { return (bytes, size) }
        }
    }

    /// Returns whether a frame header begins a shown key frame, from its first bits (AV1 bitstream specification,
    /// section 5.9.2).
    static func isKeyFrame(_ bytes: Span<UInt8>, at offset: Int) -> Bool {
        // `show_existing_frame`, two bits of `frame_type` and `show_frame`.
        offset < bytes.count && bytes[offset] & 0xF0 == 0x10
    }
}

/// The fields of a sequence header that describe the video (AV1 bitstream specification, section 5.5). Parsing
/// allocates nothing.
package struct AV1SequenceHeader: Hashable, Sendable {
    /// The maximum width and height that is accepted.
    static let maximumSide = 16_384

    /// The profile: 0 for main, 1 for high, 2 for professional.
    package let profile: UInt8
    /// The level index (`seq_level_idx`), such as 5 for level 3.1.
    package let level: UInt8
    /// The tier: 0 for main, 1 for high.
    package let tier: UInt8
    /// The bits of a sample: 8, 10 or 12.
    package let bitDepth: UInt8
    /// The maximum size of the video.
    package let dimensions: Dimensions
    /// The samples of the chroma planes.
    package let chroma: AV1ChromaFormat
    /// Whether the stream contains still pictures only, whose frames have no type.
    package let isReduced: Bool

    /// Parses the contents of a sequence header after the header of its unit. Returns nil if it is truncated or
    /// invalid.
    package init?(_ bytes: Span<UInt8>) {
        var reader = BitReader(offset: 0)
        profile = UInt8(reader.bits(3, bytes))
        _ = reader.bit(bytes)
        isReduced = reader.flag(bytes)
        if isReduced {
            level = UInt8(reader.bits(5, bytes))
            tier = 0
        } else {
            guard let point = Self.readOperatingPoints(&reader, bytes) else { return nil }
            (level, tier) = point
        }
        let widthBits = Int(reader.bits(4, bytes)) + 1
        let heightBits = Int(reader.bits(4, bytes)) + 1
        let width = Int(reader.bits(widthBits, bytes)) + 1
        let height = Int(reader.bits(heightBits, bytes)) + 1
        Self.skipTools(isReduced: isReduced, &reader, bytes)
        let hasMoreBits = reader.flag(bytes)
        bitDepth = !hasMoreBits ? 8 : profile == 2 && reader.flag(bytes) ? 12 : 10
        guard !reader.isExhausted, profile <= 2, width <= Self.maximumSide, height <= Self.maximumSide else {
            return nil
        }
        dimensions = Dimensions(width: width, height: height)
        chroma = AV1ChromaFormat(profile: profile, bitDepth: bitDepth, &reader, bytes)
    }

    /// Reads the times and the operating points. Returns the level and tier of the first point, which is that of the
    /// whole stream; nil if an unlimited number is invalid.
    private static func readOperatingPoints(
        _ reader: inout BitReader, _ bytes: Span<UInt8>
    ) -> (level: UInt8, tier: UInt8)? {
        var delayBits: Int?
        if reader.flag(bytes) {
            _ = reader.bits(32, bytes)
            _ = reader.bits(32, bytes)
            if reader.flag(bytes) { skipUnlimited(&reader, bytes) }
            if reader.flag(bytes) {
                delayBits = Int(reader.bits(5, bytes)) + 1
                _ = reader.bits(32, bytes)
                _ = reader.bits(10, bytes)
            }
        }
        let hasInitialDelay = reader.flag(bytes)
        let count = Int(reader.bits(5, bytes)) + 1
        var first: (level: UInt8, tier: UInt8)?
        for _ in 0..<count {
            _ = reader.bits(12, bytes)
            let level = UInt8(reader.bits(5, bytes))
            let tier = level > 7 ? UInt8(reader.bit(bytes)) : 0
            first = first ?? (level, tier)
            if let delayBits, reader.flag(bytes) {
                _ = reader.bits(delayBits, bytes)
                _ = reader.bits(delayBits, bytes)
                _ = reader.bit(bytes)
            }
            if hasInitialDelay, reader.flag(bytes) { _ = reader.bits(4, bytes) }
        }
        return reader.isExhausted ? nil : first
    }

    /// The format of the video.
    package var video: CodecParameters {
        CodecParameters(
            .av1(profile: profile, level: level, tier: tier), bitDepth: Int(bitDepth), dimensions: dimensions)
    }

    /// Skips the fields between the size and the color: frame numbers and coding tools.
    private static func skipTools(isReduced: Bool, _ reader: inout BitReader, _ bytes: Span<UInt8>) {
        if !isReduced, reader.flag(bytes) { _ = reader.bits(7, bytes) }
        // Superblock size and intra prediction.
        _ = reader.bits(3, bytes)
        if !isReduced {
            // Compound prediction, warped motion and dual filters.
            _ = reader.bits(4, bytes)
            let hasOrderHint = reader.flag(bytes)
            if hasOrderHint { _ = reader.bits(2, bytes) }
            let choosesScreenContent = reader.flag(bytes)
            let hasScreenContent = choosesScreenContent || reader.flag(bytes)
            if hasScreenContent, !reader.flag(bytes) { _ = reader.bit(bytes) }
            if hasOrderHint { _ = reader.bits(3, bytes) }
        }
        // Super-resolution, directional enhancement and restoration.
        _ = reader.bits(3, bytes)
    }

    /// Skips a number in the format uvlc.
    private static func skipUnlimited(_ reader: inout BitReader, _ bytes: Span<UInt8>) {
        var zeros = 0
        while !reader.flag(bytes) {
            zeros += 1
            if zeros == 32 || reader.isExhausted { return }
        }
        _ = reader.bits(zeros, bytes)
    }
}

/// The samples of the chroma planes of AV1 (AV1 bitstream specification, section 5.5.2).
package struct AV1ChromaFormat: Hashable, Sendable {
    /// Whether there are no chroma planes.
    package let isMonochrome: Bool
    /// Whether the planes have half of the columns.
    package let hasHalfColumns: Bool
    /// Whether the planes have half of the rows.
    package let hasHalfRows: Bool
    /// The value of `chroma_sample_position`, 0 to 3; 0 if it is unknown.
    package let position: UInt8

    /// The values that mean sRGB: BT.709, the transfer function of sRGB, and no matrix.
    private static let sRGB: UInt32 = 1 << 16 | 13 << 8

    /// Reads the fields after the bit depth. Of a truncated header, it is the usual format of the profile.
    fileprivate init(profile: UInt8, bitDepth: UInt8, _ reader: inout BitReader, _ bytes: Span<UInt8>) {
        let isMonochrome = profile != 1 && reader.flag(bytes)
        let isRGB = reader.flag(bytes) && reader.bits(24, bytes) == Self.sRGB && !isMonochrome
        var (columns, rows) = (true, true)
        // The range of the samples.
        if !isRGB { _ = reader.bit(bytes) }
        if isRGB || profile == 1 && !isMonochrome {
            (columns, rows) = (false, false)
        } else if profile == 2, !isMonochrome {
            if bitDepth == 12 {
                columns = reader.flag(bytes)
                rows = columns && reader.flag(bytes)
            } else {
                rows = false
            }
        }
        let position = columns && rows && !isMonochrome ? UInt8(reader.bits(2, bytes)) : 0
        guard !reader.isExhausted else {
            self.isMonochrome = false
            (hasHalfColumns, hasHalfRows) = (profile != 1, profile == 0)
            self.position = 0
            return
        }
        self.isMonochrome = isMonochrome
        (hasHalfColumns, hasHalfRows) = (columns, rows)
        self.position = position
    }
}

/// Iterates over the elements of an AV1 payload (AV1 RTP payload format, section 4.4). It allocates nothing, and does
/// not store the payload.
struct AV1PayloadReader {
    /// The bit Z of the aggregation header: the first element continues one of the packet before.
    static let continuesBit: UInt8 = 0x80
    /// The bit Y of the aggregation header: the last element continues in the next packet.
    static let isContinuedBit: UInt8 = 0x40
    /// The bit N of the aggregation header: the packet begins a coded video sequence.
    static let beginsSequenceBit: UInt8 = 0x08

    /// A unit or a fragment of one.
    struct Element {
        /// The range in the payload.
        let range: Range<Int>
        /// Whether the unit begins here.
        let isStart: Bool
        /// Whether the unit ends here.
        let isEnd: Bool
    }

    /// The offset of the next element.
    private var offset = 1
    /// The number of elements that were returned.
    private var count = 0
    /// Whether the payload violates the format. No further element is returned.
    private(set) var isMalformed = false

    /// Returns the next element; nil after the last.
    mutating func next(in payload: Span<UInt8>) -> Element? {
        guard !isMalformed, offset < payload.count else { return nil }
        let header = payload[0]
        let expected = Int(header >> 4 & 3)
        guard expected == 0 || count < expected else {
            isMalformed = true
            return nil
        }
        var size = payload.count - offset
        // With a count, the last element has no size.
        if expected == 0 || count + 1 < expected {
            guard let (value, bytes) = AV1OBU.leb128(payload, at: offset), value <= size - bytes else {
                isMalformed = true
                return nil
            }
            offset += bytes
            size = value
        }
        let range = offset..<offset + size
        let isStart = count > 0 || header & Self.continuesBit == 0
        offset = range.upperBound
        count += 1
        let isEnd = offset < payload.count || header & Self.isContinuedBit == 0
        return Element(range: range, isStart: isStart, isEnd: isEnd)
    }

    /// Returns the kind of a payload. A key frame begins with a sequence header, which is repeated before other frames
    /// only by unusual encoders.
    static func inspect(_ payload: Span<UInt8>) -> (isKeyFrame: Bool, header: AV1SequenceHeader?) {
        guard payload.count > 1, payload[0] & continuesBit == 0 else { return (false, nil) }
        var reader = AV1PayloadReader()
        var header: AV1SequenceHeader?
        while let element = reader.next(in: payload) {
            guard !element.range.isEmpty, let unit = unit(payload, element.range) else { continue }
            switch AV1OBU.type(payload[element.range.lowerBound]) {
            case AV1OBU.sequenceHeader where element.isEnd: header = AV1SequenceHeader(payload.extracting(unit))
            case AV1OBU.frame, AV1OBU.frameHeader:
                guard let header else { return (false, nil) }
                return (header.isReduced || AV1OBU.isKeyFrame(payload, at: unit.lowerBound), header)
            default: break
            }
        }
        // The frame is in the next packet.
        return (header != nil, header)
    }

    /// Returns whether a payload may begin a key frame, from its first bytes alone.
    @inline(__always)
    static func mayStartKeyFrame(_ payload: ByteView) -> Bool {
        guard payload.count > 2, payload[0] & continuesBit == 0 else { return false }
        if payload[0] & beginsSequenceBit != 0 { return true }
        // The first element without a size, or after a size of one or two bytes.
        let start = payload[0] & 0x30 == 0x10 ? 1 : payload[1] & 0x80 == 0 ? 2 : 3
        guard start < payload.count else { return false }
        let type = AV1OBU.type(payload[start])
        return type == AV1OBU.sequenceHeader || type == AV1OBU.temporalDelimiter
    }

    /// Returns the range of a unit's contents after its header; nil if the header is truncated.
    private static func unit(_ payload: Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
        let header = payload[range.lowerBound]
        var start = range.lowerBound + AV1OBU.headerSize(header)
        if header & AV1OBU.sizeBit != 0 {
            guard let (_, size) = AV1OBU.leb128(payload, at: start) else { return nil }
            start += size
        }
        return start <= range.upperBound ? start..<range.upperBound : nil
    }
}
