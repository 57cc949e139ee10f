package import PCastCore

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
    package init(_ bytes: ByteView) {
        var reader = AnnexBReader(bytes)
        var isEmpty = true
        while let unit = reader.nextUnit() {
            isEmpty = false
            take(unit)
        }
        if isEmpty { isDamaged = true }
    }

    /// Parses the NAL unit headers of an access unit.
    package init(_ bytes: [UInt8]) { self = bytes.withByteView { Self($0) } }

    private mutating func take(_ unit: ByteView) {
        guard unit[0] & 0x80 == 0 else {
            isDamaged = true
            return
        }
        switch unit[0] & H264NALUnit.typeMask {
        case H264NALUnit.nonIDRSlice: takeSlice(unit)
        case H264NALUnit.idrSlice:
            isKeyFrame = true
            takeSlice(unit)
        case H264NALUnit.partitionA...H264NALUnit.partitionC: hasSlice = true
        case H264NALUnit.sequenceParameterSet:
            hasSequenceParameterSet = true
            guard unit.count >= 4 else { return isDamaged = true }
            if profile == nil { profile = H264ProfileIDC(number: unit[1], constraints: unit[2]) }
        case H264NALUnit.pictureParameterSet: hasPictureParameterSet = true
        case H264NALUnit.supplementalInformation: takeInformation(unit)
        case 0, H264NALUnit.firstUnspecified...: hasUnspecifiedUnits = true
        default: break
        }
    }

    /// Parses supplemental enhancement information: messages with a type and a size each (ITU-T H.264, section
    /// 7.3.2.3.1).
    private mutating func takeInformation(_ unit: ByteView) {
        // Orientation messages are short; longer units contain captions and the like.
        guard unit.count <= 64 else { return }
        var rest = H264BitReader.payload(of: unit.span)[...]
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
                let bits = body.prefix(3).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                let isCancelled = bits >> 23 == 1
                let isFlipped = bits >> 21 & 3 != 0
                // The angle is in units of 1/65,536 turn. An angle nearest to 0° counts as not rotated.
                let angle = bits >> 5 & 0xFFFF
                isRotated = !isCancelled && (isFlipped || (8_192..<57_344).contains(angle))
            }
        }
    }

    private static let displayOrientation = 47

    /// Parses `first_mb_in_slice` and `slice_type` (ITU-T H.264, section 7.3.3 and table 7-6).
    private mutating func takeSlice(_ unit: ByteView) {
        let bytes = unit.span
        var header = H264BitReader(offset: 1)
        let macroblock = header.unsignedExponentialGolomb(bytes)
        let type = header.unsignedExponentialGolomb(bytes)
        guard !header.isExhausted, type < 10, hasSlice || macroblock == 0 else {
            isDamaged = true
            return
        }
        hasSlice = true
        if type % 5 == 1 { hasBidirectionalSlices = true }
    }
}
