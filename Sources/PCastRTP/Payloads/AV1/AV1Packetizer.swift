package import PCastCore

/// Divides an AV1 temporal unit into RTP payloads (AV1 RTP payload format, sections 4 and 5).
///
/// Each element has a size, so that payloads are filled with as many units and fragments as fit. The units have no
/// size fields. Temporal delimiters, tile lists and padding are omitted.
package struct AV1Packetizer {
    /// A unit that is being written.
    private struct Unit {
        /// The first byte of the header, without the bit of the size field.
        let header: UInt8
        /// The second byte of the header; nil without an extension.
        let layers: UInt8?
        /// The range of the contents in the temporal unit.
        let contents: Range<Int>
        /// The number of bytes that were written, with the header.
        var written = 0

        /// The size of the header in bytes.
        var headerSize: Int { layers == nil ? 1 : 2 }
        /// The number of bytes that are not written.
        var remaining: Int { headerSize + contents.count - written }

        /// Writes a number of bytes at the beginning of a buffer.
        mutating func write(_ count: Int, of bytes: ByteView, into buffer: MutableByteView) {
            var length = 0
            while written < headerSize, length < count {
                buffer[length] = written == 0 ? header : layers ?? 0
                written += 1
                length += 1
            }
            let start = contents.lowerBound + written - headerSize
            let rest = count - length
            if rest > 0 { buffer.extracting(length...).copyMemory(from: bytes.extracting(start..<start + rest)) }
            written += rest
        }
    }

    private let bytes: ByteView
    /// The maximum size of a payload in bytes.
    private let maximumPayloadSize: Int
    /// The offset of the next unit.
    private var offset = 0
    /// The current unit; nil after the last.
    private var unit: Unit?
    /// Whether the next packet begins a coded video sequence.
    private var beginsSequence = false

    /// The number of units that were dropped because they are truncated.
    package private(set) var droppedUnits = 0

    /// Creates a packetizer for a temporal unit.
    ///
    /// - Parameters:
    ///   - temporalUnit: The temporal unit in the low-overhead format, which must be valid until ``next(into:)`` has
    ///     returned nil.
    ///   - maximumPayloadSize: The maximum size of a payload in bytes.
    package init(temporalUnit: ByteView, maximumPayloadSize: Int = PayloadPacketizer.defaultMaximumPayloadSize) {
        precondition(
            maximumPayloadSize >= PayloadPacketizer.smallestMaximumPayloadSize, "the payload limit is too small")
        bytes = temporalUnit
        // The size of an element has at most two bytes.
        self.maximumPayloadSize = min(maximumPayloadSize, 1 << 14)
        advance()
        if let unit { beginsSequence = AV1OBU.type(unit.header) == AV1OBU.sequenceHeader }
    }

    /// Writes the next payload at the beginning of a buffer of at least the maximum payload size. Returns nil after the
    /// last.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard let first = unit else { return nil }
        buffer[0] =
            (first.written > 0 ? AV1PayloadReader.continuesBit : 0)
            | (beginsSequence ? AV1PayloadReader.beginsSequenceBit : 0)
        beginsSequence = false
        var length = 1
        while let remaining = unit?.remaining {
            let room = maximumPayloadSize - length - (remaining < 0x80 ? 1 : 2)
            guard room > 0 else { break }
            let size = min(remaining, room)
            let prefix = AV1OBU.leb128(size)
            for index in 0..<prefix.size {
                buffer[length + index] = UInt8(truncatingIfNeeded: prefix.bytes >> UInt64(8 * index))
            }
            length += prefix.size
            unit!.write(size, of: bytes, into: buffer.extracting(length...))
            length += size
            if size < remaining {
                buffer[0] |= AV1PayloadReader.isContinuedBit
                break
            }
            advance()
        }
        return PayloadPacket(length: length, isLast: unit == nil)
    }

    /// Advances to the next unit that is sent.
    private mutating func advance() {
        unit = nil
        while offset < bytes.count {
            let header = bytes[offset]
            var start = offset + AV1OBU.headerSize(header)
            guard start <= bytes.count else { return dropRest() }
            let layers = header & AV1OBU.extensionBit == 0 ? nil : bytes[offset + 1]
            var end = bytes.count
            if header & AV1OBU.sizeBit != 0 {
                guard let (value, size) = AV1OBU.leb128(bytes.span, at: start), value <= bytes.count - start - size
                else { return dropRest() }
                start += size
                end = start + value
            }
            offset = end
            guard AV1OBU.isSent(AV1OBU.type(header)) else { continue }
            unit = Unit(header: header & ~AV1OBU.sizeBit, layers: layers, contents: start..<end)
            return
        }
    }

    /// Drops the rest of the temporal unit.
    private mutating func dropRest() {
        droppedUnits += 1
        offset = bytes.count
    }
}

/// Assembles AV1 temporal units in the low-overhead format from RTP payloads: a temporal delimiter, and units with size
/// fields (AV1 bitstream specification, section 5.2).
package struct AV1Depacketizer: Sendable {
    /// The offset of the incomplete unit; nil if there is none.
    private var openStart: Int?
    /// Whether nothing of the temporal unit was lost or dropped.
    private var isIntact = true
    /// Whether the temporal unit contains a frame.
    private var hasFrame = false
    /// Whether a frame is a shown key frame.
    private var hasKeyFrame = false
    /// The sequence header of the temporal unit; nil if it contains none.
    private var sequenceHeader: AV1SequenceHeader?

    /// The number of units or payloads that were dropped because they violate the payload format.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends the units and fragments of a payload.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        if bytes.isEmpty { bytes += [AV1OBU.temporalDelimiter << 3 | AV1OBU.sizeBit, 0] }
        let continues = !payload.isEmpty && payload[0] & AV1PayloadReader.continuesBit != 0
        guard payload.count > 1, continues == (openStart != nil) else {
            dropOpenUnit(from: &bytes)
            drop()
            return
        }
        var reader = AV1PayloadReader()
        while let element = reader.next(in: payload) {
            let start = openStart ?? bytes.count
            bytes.append(contentsOf: payload.extracting(element.range))
            openStart = start
            guard element.isEnd else { return }
            openStart = nil
            finishUnit(from: start, in: &bytes)
        }
        guard reader.isMalformed else { return }
        dropOpenUnit(from: &bytes)
        drop()
    }

    /// Finishes the temporal unit. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        if openStart != nil {
            dropOpenUnit(from: &bytes)
            drop()
        }
        defer { (isIntact, hasFrame, hasKeyFrame, sequenceHeader) = (true, false, false, nil) }
        guard isIntact, bytes.count > 2 else { return nil }
        return DepacketizedFrame(
            isKeyFrame: hasFrame && hasKeyFrame && sequenceHeader != nil, hasSlice: hasFrame)
    }

    /// Adds the size to a complete unit, or removes the unit if a decoder does not need it.
    private mutating func finishUnit(from start: Int, in bytes: inout [UInt8]) {
        guard start < bytes.count, bytes[start] & AV1OBU.forbiddenBit == 0,
            start + AV1OBU.headerSize(bytes[start]) <= bytes.count
        else {
            bytes.removeLast(bytes.count - start)
            drop()
            return
        }
        let header = bytes[start]
        let contents = start + AV1OBU.headerSize(header)
        if header & AV1OBU.sizeBit != 0 {
            // A sender should leave out this size, which may have more bytes than it needs.
            guard let (value, size) = AV1OBU.leb128(bytes.span, at: contents),
                value == bytes.count - contents - size
            else {
                bytes.removeLast(bytes.count - start)
                drop()
                return
            }
            bytes.removeSubrange(contents..<contents + size)
        }
        guard AV1OBU.isSent(AV1OBU.type(header)) else {
            bytes.removeLast(bytes.count - start)
            return
        }
        let prefix = AV1OBU.leb128(bytes.count - contents)
        bytes[start] |= AV1OBU.sizeBit
        let size = (0..<prefix.size).map { UInt8(truncatingIfNeeded: prefix.bytes >> UInt64(8 * $0)) }
        bytes.insert(contentsOf: size, at: contents)
        note(AV1OBU.type(header), contents + prefix.size, in: bytes)
    }

    /// Records the contents of a unit.
    private mutating func note(_ type: UInt8, _ contents: Int, in bytes: [UInt8]) {
        switch type {
        case AV1OBU.sequenceHeader: sequenceHeader = AV1SequenceHeader(bytes.span.extracting(contents..<bytes.count))
        case AV1OBU.frame, AV1OBU.frameHeader:
            let isKeyFrame = sequenceHeader?.isReduced == true || AV1OBU.isKeyFrame(bytes.span, at: contents)
            hasFrame = true
            hasKeyFrame = hasKeyFrame || isKeyFrame
        case AV1OBU.tileGroup: hasFrame = true
        default: break
        }
    }

    /// Removes the incomplete unit.
    private mutating func dropOpenUnit(from bytes: inout [UInt8]) {
        guard let start = openStart else { return }
        bytes.removeLast(bytes.count - start)
        openStart = nil
    }

    /// Counts a dropped unit or payload.
    private mutating func drop() {
        malformedUnits += 1
        isIntact = false
    }
}
