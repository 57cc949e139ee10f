package import PCastCore

/// The properties of a video stream from its sequence parameter set (ITU-T H.264, section 7.3.2.1.1).
package struct H264SequenceParameterSet: Hashable, Sendable {
    /// The profile, `profile_idc`.
    package let profile: UInt8

    /// The six constraint flags and two reserved bits after the profile.
    package let constraints: UInt8

    /// The level multiplied by ten, such as 31 for 3.1.
    package let level: UInt8

    /// The size of the video after cropping.
    package let dimensions: Dimensions

    /// The maximum width and height; a larger size is invalid.
    package static let maximumSide = 16_384

    /// Parses a NAL unit with its header. Returns nil if it is not a sequence parameter set, or if it is truncated or
    /// invalid.
    package init?(_ unit: Span<UInt8>) {
        guard unit.count >= 4, unit[0] & H264NALUnit.typeMask == H264NALUnit.sequenceParameterSet else { return nil }
        profile = unit[1]
        constraints = unit[2]
        level = unit[3]
        var reader = H264BitReader(offset: 4)
        _ = reader.unsignedExponentialGolomb(unit)
        let chroma = Self.readChroma(profile: profile, &reader, unit)
        Self.skipPictureOrder(&reader, unit)
        guard let dimensions = Self.readDimensions(chroma: chroma, &reader, unit) else { return nil }
        self.dimensions = dimensions
    }

    /// Reads `ChromaArrayType`, which is 1 (4:2:0) except for the high profiles.
    private static func readChroma(profile: UInt8, _ reader: inout H264BitReader, _ unit: Span<UInt8>) -> UInt32 {
        switch profile {
        case 100, 110, 122, 244, 44, 83, 86, 118, 128, 134, 135, 138, 139: break
        default: return 1
        }
        let format = reader.unsignedExponentialGolomb(unit)
        let isSeparate = format == 3 && reader.bit(unit) == 1
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.bit(unit)
        if reader.bit(unit) == 1 {
            for list in 0..<(format == 3 ? 12 : 8) where reader.bit(unit) == 1 {
                skipScalingList(size: list < 6 ? 16 : 64, &reader, unit)
            }
        }
        return isSeparate ? 0 : format
    }

    /// Skips a scaling list (section 7.3.2.1.1.1).
    private static func skipScalingList(size: Int, _ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        var last: Int64 = 8
        for _ in 0..<size {
            let next = (last + reader.signedExponentialGolomb(unit)) & 0xFF
            if next == 0 || reader.isExhausted { return }
            last = next
        }
    }

    /// Skips the fields about the picture order count and the reference frames.
    private static func skipPictureOrder(_ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        _ = reader.unsignedExponentialGolomb(unit)
        let orderType = reader.unsignedExponentialGolomb(unit)
        if orderType == 0 {
            _ = reader.unsignedExponentialGolomb(unit)
        } else if orderType == 1 {
            _ = reader.bit(unit)
            _ = reader.signedExponentialGolomb(unit)
            _ = reader.signedExponentialGolomb(unit)
            // The standard limits `num_ref_frames_in_pic_order_cnt_cycle` to 255.
            for _ in 0..<min(reader.unsignedExponentialGolomb(unit), 255) {
                _ = reader.signedExponentialGolomb(unit)
            }
        }
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.bit(unit)
    }

    /// Reads the size, which is in macroblocks of 16 × 16 and cropped in chroma samples (equations 7-13 to 7-22).
    private static func readDimensions(
        chroma: UInt32, _ reader: inout H264BitReader, _ unit: Span<UInt8>
    ) -> Dimensions? {
        let columns = Int(reader.unsignedExponentialGolomb(unit)) + 1
        let rows = Int(reader.unsignedExponentialGolomb(unit)) + 1
        let fieldFactor = reader.bit(unit) == 1 ? 1 : 2
        if fieldFactor == 2 { _ = reader.bit(unit) }
        _ = reader.bit(unit)
        guard columns <= maximumSide / 16, rows * fieldFactor <= maximumSide / 16 else { return nil }
        var width = columns * 16
        var height = rows * fieldFactor * 16
        if reader.bit(unit) == 1 {
            let unitX = chroma == 1 || chroma == 2 ? 2 : 1
            let unitY = (chroma == 1 ? 2 : 1) * fieldFactor
            let left = Int(reader.unsignedExponentialGolomb(unit))
            let right = Int(reader.unsignedExponentialGolomb(unit))
            width -= (left + right) * unitX
            let top = Int(reader.unsignedExponentialGolomb(unit))
            let bottom = Int(reader.unsignedExponentialGolomb(unit))
            height -= (top + bottom) * unitY
        }
        guard !reader.isExhausted, width > 0, height > 0 else { return nil }
        return Dimensions(width: width, height: height)
    }
}
