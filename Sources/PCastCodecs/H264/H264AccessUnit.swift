/// What an access unit of H.264 in Annex B is, told by the headers of its NAL units alone.
public struct H264AccessUnit: Hashable, Sendable {
    /// It holds a slice of an IDR picture: a decoder that has the parameter sets can begin here.
    public private(set) var isKeyFrame = false
    public private(set) var hasSequenceParameterSet = false
    public private(set) var hasPictureParameterSet = false
    /// It holds a part of a picture, and is not only parameter sets or other information.
    public private(set) var hasPicture = false
    /// It holds a slice that may be predicted from a later picture (`slice_type` 1 or 6).
    public private(set) var hasBidirectionalSlices = false
    /// It holds units of types that mean nothing in H.264, and other things in its RTP payloads (RFC 6184, table 1).
    public private(set) var hasUnspecifiedUnits = false
    /// A unit of it cannot be: its forbidden bit is set, or its header is cut short; or the picture's first slice is
    /// missing.
    public private(set) var isDamaged = false
    /// It is to be shown turned or mirrored (section D.1.27, display orientation).
    public private(set) var isRotated = false
    /// Of its first sequence parameter set.
    public private(set) var profile: H264Profile?

    public init(_ bytes: UnsafeRawBufferPointer) {
        var reader = H264UnitReader(bytes)
        var isEmpty = true
        while let unit = reader.next() {
            isEmpty = false
            take(unit)
        }
        if isEmpty { isDamaged = true }
    }

    public init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes(Self.init) }

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
        case H264UnitType.partitionA...H264UnitType.partitionC: hasPicture = true
        case H264UnitType.sequenceParameterSet:
            hasSequenceParameterSet = true
            guard unit.count >= 4 else { return isDamaged = true }
            if profile == nil { profile = H264Profile(number: unit[1], constraints: unit[2]) }
        case H264UnitType.pictureParameterSet: hasPictureParameterSet = true
        case H264UnitType.supplementalInformation: takeInformation(unit)
        case 0, H264UnitType.firstUnspecified...: hasUnspecifiedUnits = true
        default: break
        }
    }

    /// Section 7.3.2.3.1: messages, each with its type and its size.
    private mutating func takeInformation(_ unit: UnsafeRawBufferPointer) {
        // Few are so short; the others hold captions and the like.
        guard unit.count <= 64 else { return }
        var rest = H264BitReader(unit).bytes[...]
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
                var reader = H264BitReader([0] + body)
                let isCancelled = reader.flag() ?? true
                let isFlipped = (reader.bits(2) ?? 0) != 0
                // In steps of a turn by 65,536; what is nearest to none is none.
                let angle = Int(reader.bits(16) ?? 0)
                isRotated = !isCancelled && (isFlipped || (8_192..<57_344).contains(angle))
            }
        }
    }

    private static let displayOrientation = 47

    /// Section 7.3.3: `first_mb_in_slice`, `slice_type`; table 7-6.
    private mutating func takeSlice(_ unit: UnsafeRawBufferPointer) {
        var header = H264BitWindow(unit, offset: 1)
        guard let macroblock = header.unsignedExponentialGolomb(), let type = header.unsignedExponentialGolomb(),
            type < 10, hasPicture || macroblock == 0
        else {
            isDamaged = true
            return
        }
        hasPicture = true
        if type % 5 == 1 { hasBidirectionalSlices = true }
    }
}

/// Types of NAL units (ITU-T H.264, table 7-1).
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
