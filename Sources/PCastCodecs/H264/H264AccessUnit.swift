/// The properties of an H.264 access unit in Annex B, from the headers of its NAL units.
package struct H264AccessUnit: Hashable, Sendable {
    /// Whether it contains an IDR slice. A decoder with the parameter sets can start here.
    package private(set) var isKeyFrame = false
    /// Whether it contains a sequence parameter set.
    package private(set) var hasSequenceParameterSet = false
    /// Whether it contains a picture parameter set.
    package private(set) var hasPictureParameterSet = false
    /// Whether it contains slices, and not only parameter sets or other information.
    package private(set) var hasSlice = false
    /// Whether it contains a slice that may be predicted from a later frame (`slice_type` 1 or 6).
    package private(set) var hasBidirectionalSlices = false
    /// Whether it contains NAL units of unspecified types, which have another meaning in RTP payloads (RFC 6184, table
    /// 1).
    package private(set) var hasUnspecifiedUnits = false
    /// Whether it is invalid: a forbidden bit is set, a header is truncated, or the first slice of the frame is
    /// missing.
    package private(set) var isDamaged = false
    /// Whether it must be presented rotated or mirrored (display orientation SEI; ITU-T H.264, section D.1.27).
    package private(set) var isRotated = false
    /// The profile of the first sequence parameter set; nil without one.
    package private(set) var profile: H264ProfileIDC?

    /// Parses the NAL unit headers of an access unit.
    package init(_ bytes: UnsafeRawBufferPointer) {
        var reader = H264UnitReader(bytes)
        var isEmpty = true
        while let unit = reader.next() {
            isEmpty = false
            take(unit)
        }
        if isEmpty { isDamaged = true }
    }

    /// Parses the NAL unit headers of an access unit.
    package init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes(Self.init) }

    private mutating func take(_ unit: UnsafeRawBufferPointer) {
        guard unit[0] & 0x80 == 0 else {
            isDamaged = true
            return
        }
        switch unit[0] & H264UnitType.mask {
        case H264UnitType.slice: takeSlice(unit)
        case H264UnitType.idrSlice:
            isKeyFrame = true
            takeSlice(unit)
        case H264UnitType.partitionA...H264UnitType.partitionC: hasSlice = true
        case H264UnitType.sequenceParameterSet:
            hasSequenceParameterSet = true
            guard unit.count >= 4 else { return isDamaged = true }
            if profile == nil { profile = H264ProfileIDC(number: unit[1], constraints: unit[2]) }
        case H264UnitType.pictureParameterSet: hasPictureParameterSet = true
        case H264UnitType.supplementalInformation: takeInformation(unit)
        case 0, H264UnitType.firstUnspecified...: hasUnspecifiedUnits = true
        default: break
        }
    }

    /// Parses supplemental enhancement information: messages with a type and a size each (ITU-T H.264, section
    /// 7.3.2.3.1).
    private mutating func takeInformation(_ unit: UnsafeRawBufferPointer) {
        // Orientation messages are short; longer units contain captions and the like.
        guard unit.count <= 64 else { return }
        var rest = H264SyntaxReader(unit).bytes[...]
        while rest.count > 2 {
            var header = [0, 0]
            for index in 0..<2 {
                while let byte = rest.popFirst() {
                    header[index] += Int(byte)
                    if byte != 0xFF { break }
                }
            }
            let body = rest.prefix(header[1])
            rest = rest.dropFirst(header[1])
            if header[0] == Self.displayOrientation, body.count >= 3 {
                var reader = H264SyntaxReader([0] + body)
                let isCancelled = reader.flag() ?? true
                let isFlipped = (reader.bits(2) ?? 0) != 0
                // The angle is in units of 1/65,536 turn. An angle nearest to 0° counts as not rotated.
                let angle = Int(reader.bits(16) ?? 0)
                isRotated = !isCancelled && (isFlipped || (8_192..<57_344).contains(angle))
            }
        }
    }

    private static let displayOrientation = 47

    /// Parses `first_mb_in_slice` and `slice_type` (ITU-T H.264, section 7.3.3 and table 7-6).
    private mutating func takeSlice(_ unit: UnsafeRawBufferPointer) {
        var header = H264BitWindow(unit, offset: 1)
        guard let macroblock = header.unsignedExponentialGolomb(), let type = header.unsignedExponentialGolomb(),
            type < 10, hasSlice || macroblock == 0
        else {
            isDamaged = true
            return
        }
        hasSlice = true
        if type % 5 == 1 { hasBidirectionalSlices = true }
    }
}

/// NAL unit types (ITU-T H.264, table 7-1).
enum H264UnitType {
    static let mask: UInt8 = 0x1F
    static let slice: UInt8 = 1
    static let partitionA: UInt8 = 2
    static let partitionC: UInt8 = 4
    static let idrSlice: UInt8 = 5
    static let supplementalInformation: UInt8 = 6
    static let sequenceParameterSet: UInt8 = 7
    static let pictureParameterSet: UInt8 = 8
    static let accessUnitDelimiter: UInt8 = 9
    static let firstUnspecified: UInt8 = 24
}

/// The first 64 bits of a NAL unit's payload, without emulation prevention bytes (ITU-T H.264, sections 7.2, 7.4.1 and
/// 9.1). They contain the first fields of slices and parameter sets.
struct H264BitWindow {
    private var bits: UInt64 = 0
    /// The number of bits that are left.
    private var count = 0

    /// Reads the bits of a NAL unit from a byte offset on.
    init(_ unit: UnsafeRawBufferPointer, offset: Int) {
        var zeros = 0
        for byte in unit.dropFirst(offset).prefix(12) where count < 64 {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bits |= UInt64(byte) << UInt64(56 - count)
            count += 8
        }
    }

    /// Reads an unsigned Exp-Golomb code, ue(v). Returns nil if it is longer than the remaining bits.
    mutating func unsignedExponentialGolomb() -> UInt32? {
        let zeros = bits.leadingZeroBitCount
        let length = 2 * zeros + 1
        guard zeros < 32, length <= count else { return nil }
        let code = bits >> UInt64(64 - length)
        bits = length == 64 ? 0 : bits << UInt64(length)
        count -= length
        return UInt32(code - 1)
    }
}
