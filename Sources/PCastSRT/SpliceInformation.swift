package import PCastCore

/// A splice message of MPEG-TS (`splice_info_section`; SCTE 35 2023, section 9.6): the beginning or the end of a break, or
/// another command.
package struct SpliceInformation: Hashable, Sendable {
    /// The meaning of the message for a break.
    package enum Kind: Hashable, Sendable {
        /// A break begins (out of the network).
        case out
        /// A break ends (back in the network).
        case back
        /// A command that marks neither.
        case command
    }

    /// The meaning of the message for a break.
    package let kind: Kind
    /// The identifier of the break: that of the splice event, or of the segmentation event; nil if the message has none.
    package let eventID: UInt32?
    /// The time of the splice in units of 90 kHz modulo 2³³, in the time of the transport stream; nil for immediately.
    package let time: UInt64?
    /// The expected duration of the break; nil if it is not stated.
    package let duration: TimeSpan?
    /// Whether the event was canceled.
    package let isCanceled: Bool
    /// The section as it was received.
    package let section: [UInt8]

    /// The maximum size of a section in bytes: `section_length` is at most 4,093.
    package static let maximumSize = 4_096
    static let tableID: UInt8 = 0xFC
    /// The bits of a time.
    private static let timeMask: UInt64 = 0x1_FFFF_FFFF

    /// Parses a section, with its checksum. Returns nil if it is malformed or encrypted, or for a command without a splice:
    /// `splice_null`, `bandwidth_reservation` and private commands.
    package init?(_ section: [UInt8]) {
        guard (20...Self.maximumSize).contains(section.count), section[0] == Self.tableID,
            Int(section[1] & 0x0F) << 8 | Int(section[2]) == section.count - 3,
            CyclicRedundancyCheck.value(of: section) == 0
        else { return nil }
        // The protocol version is zero, and the message is not encrypted.
        guard section[3] == 0, section[4] & 0x80 == 0 else { return nil }
        var reader = BitReader(section[4..<section.count - 4])
        guard reader.bits(7) != nil, let adjustment = reader.bits(33), reader.bits(8) != nil, reader.bits(12) != nil,
            let length = reader.bits(12), let command = reader.bits(8)
        else { return nil }
        let parsed: Command?
        switch command {
        case 0x05: parsed = Self.spliceInsert(&reader)
        case 0x06: parsed = Self.timeSignal(&reader)
        default: return nil
        }
        guard var parsed else { return nil }
        // A length of 4,095 is that of older versions, which do not state it.
        let start = 14 + Int(length)
        if length != 0xFFF, start <= section.count - 4 { reader = BitReader(section[start..<section.count - 4]) }
        if command == 0x06, let segmentation = Self.segmentation(&reader) {
            parsed.kind = segmentation.kind
            parsed.eventID = segmentation.eventID
            parsed.duration = segmentation.duration
            parsed.isCanceled = segmentation.isCanceled
        }
        kind = parsed.kind
        eventID = parsed.eventID
        time = parsed.time.map { ($0 + adjustment) & Self.timeMask }
        duration = parsed.duration
        isCanceled = parsed.isCanceled
        self.section = section
    }

    private struct Command {
        var kind = Kind.command
        var eventID: UInt32?
        var time: UInt64?
        var duration: TimeSpan?
        var isCanceled = false
    }

    /// Reads `splice_insert` (section 9.7.3).
    private static func spliceInsert(_ reader: inout BitReader) -> Command? {
        var command = Command()
        guard let id = reader.bits(32), let isCanceled = reader.flag(), reader.bits(7) != nil else { return nil }
        command.eventID = UInt32(truncatingIfNeeded: id)
        command.isCanceled = isCanceled
        guard !isCanceled else { return command }
        guard let isOut = reader.flag(), let isProgram = reader.flag(), let hasDuration = reader.flag(),
            let isImmediate = reader.flag(), reader.bits(4) != nil
        else { return nil }
        command.kind = isOut ? .out : .back
        if isProgram {
            if !isImmediate {
                guard let time = spliceTime(&reader) else { return nil }
                command.time = time.value
            }
        } else {
            guard let count = reader.bits(8) else { return nil }
            for index in 0..<count {
                guard reader.bits(8) != nil else { return nil }
                guard !isImmediate else { continue }
                guard let time = spliceTime(&reader) else { return nil }
                // The components are those of one program, so the first one counts.
                if index == 0 { command.time = time.value }
            }
        }
        if hasDuration {
            guard reader.bits(7) != nil, let ticks = reader.bits(33) else { return nil }
            command.duration = ClockRate.video.span(ofTicks: Int64(ticks))
        }
        return reader.bits(32) == nil ? nil : command
    }

    /// Reads `time_signal` (section 9.7.4).
    private static func timeSignal(_ reader: inout BitReader) -> Command? {
        guard let time = spliceTime(&reader) else { return nil }
        var command = Command()
        command.time = time.value
        return command
    }

    /// A time, which may be absent.
    private struct SpliceTime {
        let value: UInt64?
    }

    /// Reads `splice_time` (section 9.8.1). Returns nil if it is truncated.
    private static func spliceTime(_ reader: inout BitReader) -> SpliceTime? {
        guard let isSpecified = reader.flag() else { return nil }
        guard isSpecified else { return reader.bits(7).map { _ in SpliceTime(value: nil) } }
        guard reader.bits(6) != nil, let time = reader.bits(33) else { return nil }
        return SpliceTime(value: time)
    }

    /// Reads the segmentation descriptors (section 10.3.3). Returns the first that marks the beginning or the end of a
    /// break, or else the first one; nil if there is none.
    private static func segmentation(_ reader: inout BitReader) -> Command? {
        guard let loop = reader.bits(16) else { return nil }
        var rest = Int(loop)
        var first: Command?
        while rest >= 2 {
            guard let tag = reader.bits(8), let length = reader.bits(8) else { break }
            rest -= 2 + Int(length)
            guard rest >= 0, let body = reader.bytes(Int(length)) else { break }
            var descriptor = BitReader(body)
            // The identifier is “CUEI”.
            guard tag == 0x02, descriptor.bits(32) == 0x4355_4549, let found = segmentation(in: &descriptor) else {
                continue
            }
            if found.kind != .command { return found }
            first = first ?? found
        }
        return first
    }

    private static func segmentation(in reader: inout BitReader) -> Command? {
        var command = Command()
        guard let id = reader.bits(32), let isCanceled = reader.flag(), reader.bits(7) != nil else { return nil }
        command.eventID = UInt32(truncatingIfNeeded: id)
        command.isCanceled = isCanceled
        guard !isCanceled else { return command }
        guard let isProgram = reader.flag(), let hasDuration = reader.flag(), reader.bits(6) != nil else { return nil }
        if !isProgram {
            guard let count = reader.bits(8) else { return nil }
            for _ in 0..<count { guard reader.bits(48) != nil else { return nil } }
        }
        if hasDuration {
            guard let ticks = reader.bits(40) else { return nil }
            command.duration = ClockRate.video.span(ofTicks: Int64(ticks))
        }
        guard reader.bits(8) != nil, let length = reader.bits(8), reader.bytes(Int(length)) != nil,
            let type = reader.bits(8)
        else { return nil }
        command.kind = kind(ofSegmentation: UInt8(truncatingIfNeeded: type))
        return command
    }

    /// Returns the meaning of a `segmentation_type_id` (table 23). Advertisements and placement opportunities are breaks,
    /// with an even type at their beginning and an odd one at their end.
    private static func kind(ofSegmentation type: UInt8) -> Kind {
        switch type {
        case 0x22, 0x30, 0x32, 0x34, 0x36, 0x38, 0x3A, 0x3C, 0x3E, 0x44, 0x46: .out
        case 0x23, 0x31, 0x33, 0x35, 0x37, 0x39, 0x3B, 0x3D, 0x3F, 0x45, 0x47: .back
        default: .command
        }
    }
}

/// Reads bits of a message, most significant first.
private struct BitReader {
    private let bytes: ArraySlice<UInt8>
    /// The position in bits from the first byte.
    private var position = 0

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Returns the next bits, at most 64; nil if there are fewer.
    mutating func bits(_ count: Int) -> UInt64? {
        guard position + count <= bytes.count * 8 else { return nil }
        var value: UInt64 = 0
        for bit in position..<position + count {
            let byte = bytes[bytes.startIndex + bit / 8]
            value = value << 1 | UInt64(byte >> UInt8(7 - bit % 8) & 1)
        }
        position += count
        return value
    }

    mutating func flag() -> Bool? { bits(1).map { $0 == 1 } }

    /// Returns the next bytes, at a boundary of bytes; nil if there are fewer.
    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        let start = bytes.startIndex + position / 8
        guard position % 8 == 0, start + count <= bytes.endIndex else { return nil }
        position += count * 8
        return bytes[start..<start + count]
    }
}
