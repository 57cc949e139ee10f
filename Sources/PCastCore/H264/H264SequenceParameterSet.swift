/// The fields of a sequence parameter set that describe the video: profile, size, interlacing, aspect ratio and color
/// (ITU-T H.264, sections 7.3.2.1.1 and E.1.1). Parsing allocates nothing.
package struct H264SequenceParameterSet: Hashable, Sendable {
    /// The chroma format and the bit depths of the samples.
    package struct Chroma: Hashable, Sendable {
        /// The value of `chroma_format_idc`: 0 for monochrome, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4.
        package let format: UInt8
        /// The bits of a luma sample, 8 to 14.
        package let lumaDepth: UInt8
        /// The bits of a chroma sample, 8 to 14.
        package let chromaDepth: UInt8
        /// `ChromaArrayType`, which is 0 if the planes are coded separately.
        let arrayType: UInt32
    }

    /// The maximum width and height; a larger size is invalid.
    package static let maximumSide = 16_384

    /// The profile.
    package let profile: H264ProfileIDC
    /// The level multiplied by ten, such as 31 for 3.1.
    package let level: UInt8
    /// The chroma format and the bit depths, which only high profiles state; nil for the others, which are 4:2:0 with
    /// eight bits.
    package let chroma: Chroma?
    /// The size of the video after cropping.
    package let dimensions: Dimensions
    /// Whether all frames are progressive (`frame_mbs_only_flag`).
    package let isProgressive: Bool
    /// The sample aspect ratio; nil if it is absent or unspecified.
    package private(set) var sampleAspectRatio: SampleAspectRatio?
    /// The value of `video_full_range_flag`; nil if it is absent.
    package private(set) var isFullRange: Bool?
    /// The value of `matrix_coefficients`; nil if it is absent or unspecified.
    package private(set) var matrixCode: UInt8?
    /// The most frames that precede a frame in decoding order and follow it in presentation order
    /// (`max_num_reorder_frames`), 0 to 16; nil if it is absent. It is 0 for the baseline profile, which has no B-frames.
    package private(set) var reorderedFrames: Int?
    /// Whether the parameter set is truncated after the size, so that aspect ratio and color are unknown.
    package private(set) var isTruncated = false

    /// The position of `vui_parameters_present_flag` in the payload, in bits without emulation prevention bytes.
    private let vuiFlag: Int
    /// The bit position of `video_signal_type_present_flag`; nil without a VUI.
    private var signalFlag: Int?
    /// The value of `video_format`; 5 is unspecified.
    private var format: UInt32 = 5
    /// The bit position after the color description, or where it would be.
    private var signalEnd = 0

    /// Parses a NAL unit with its header. Returns nil if it is not a sequence parameter set, or if the size is
    /// truncated or invalid.
    package init?(_ unit: Span<UInt8>) {
        guard unit.count >= 4, unit[0] & H264NALUnit.typeMask == H264NALUnit.sequenceParameterSet else { return nil }
        var reader = H264BitReader(offset: 1)
        let number = UInt8(reader.bits(8, unit))
        profile = H264ProfileIDC(number: number, constraints: UInt8(reader.bits(8, unit)))
        level = UInt8(reader.bits(8, unit))
        _ = reader.unsignedExponentialGolomb(unit)
        chroma = Self.readChroma(profile: number, &reader, unit)
        Self.skipPictureOrder(&reader, unit)
        guard let size = Self.readSize(chroma: chroma?.arrayType ?? 1, &reader, unit) else { return nil }
        (dimensions, isProgressive) = size
        vuiFlag = reader.position
        let hasVUI = reader.bit(unit) == 1
        if number == 66 { reorderedFrames = 0 }
        if hasVUI {
            readVUI(&reader, unit)
            // The fields after the color may be truncated.
            if let frames = Self.readReordering(reader, unit) { reorderedFrames = frames }
        }
        guard reader.isExhausted else { return }
        isTruncated = true
        (sampleAspectRatio, isFullRange, matrixCode) = (nil, nil, nil)
    }

    /// Reads the fields that only high profiles have; nil for the others. Values outside of the standard's range are
    /// limited to it.
    private static func readChroma(profile: UInt8, _ reader: inout H264BitReader, _ unit: Span<UInt8>) -> Chroma? {
        switch profile {
        case 100, 110, 122, 244, 44, 83, 86, 118, 128, 134, 135, 138, 139: break
        default: return nil
        }
        let format = reader.unsignedExponentialGolomb(unit)
        let isSeparate = format == 3 && reader.bit(unit) == 1
        let lumaDepth = 8 + min(reader.unsignedExponentialGolomb(unit), 6)
        let chromaDepth = 8 + min(reader.unsignedExponentialGolomb(unit), 6)
        _ = reader.bit(unit)
        if reader.bit(unit) == 1 {
            for list in 0..<(format == 3 ? 12 : 8) where reader.bit(unit) == 1 {
                skipScalingList(size: list < 6 ? 16 : 64, &reader, unit)
            }
        }
        return Chroma(
            format: UInt8(min(format, 3)), lumaDepth: UInt8(lumaDepth), chromaDepth: UInt8(chromaDepth),
            arrayType: isSeparate ? 0 : format)
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

    /// Reads the size, which is in macroblocks of 16 × 16 and cropped in chroma samples (equations 7-13 to 7-22), and
    /// whether all frames are progressive. Returns nil if it is truncated or invalid.
    private static func readSize(
        chroma: UInt32, _ reader: inout H264BitReader, _ unit: Span<UInt8>
    ) -> (Dimensions, isProgressive: Bool)? {
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
        return (Dimensions(width: width, height: height), fieldFactor == 1)
    }

    // MARK: Video usability information (section E.1.1)

    /// Reads the aspect ratio and the color description.
    private mutating func readVUI(_ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        if reader.bit(unit) == 1 {
            let index = reader.bits(8, unit)
            if index == 255 {
                let width = Int32(reader.bits(16, unit))
                sampleAspectRatio = SampleAspectRatio(width, Int32(reader.bits(16, unit)))
            } else {
                sampleAspectRatio = SampleAspectRatio(index: index)
            }
        }
        let hasOverscan = reader.bit(unit) == 1
        if hasOverscan { _ = reader.bit(unit) }
        signalFlag = reader.position
        if reader.bit(unit) == 1 {
            format = reader.bits(3, unit)
            isFullRange = reader.bit(unit) == 1
            if reader.bit(unit) == 1 {
                _ = reader.bits(16, unit)
                let matrix = UInt8(reader.bits(8, unit))
                matrixCode = matrix == 2 ? nil : matrix
            }
        }
        signalEnd = reader.position
    }

    /// Reads `max_num_reorder_frames` behind the color description; nil if it is absent or invalid.
    private static func readReordering(_ position: H264BitReader, _ unit: Span<UInt8>) -> Int? {
        var reader = position
        let hasChromaLocation = reader.bit(unit) == 1
        if hasChromaLocation {
            _ = reader.unsignedExponentialGolomb(unit)
            _ = reader.unsignedExponentialGolomb(unit)
        }
        let hasTiming = reader.bit(unit) == 1
        if hasTiming {
            _ = reader.bits(32, unit)
            _ = reader.bits(32, unit)
            _ = reader.bit(unit)
        }
        // The parameters of the hypothetical decoder for NAL units, and those for slices.
        var hasDecoder = false
        for _ in 0..<2 where reader.bit(unit) == 1 {
            hasDecoder = true
            skipDecoderParameters(&reader, unit)
        }
        if hasDecoder { _ = reader.bit(unit) }
        // Whether messages with the times of frames are present.
        _ = reader.bit(unit)
        let hasRestrictions = reader.bit(unit) == 1
        guard hasRestrictions else { return nil }
        _ = reader.bit(unit)
        // The sizes of frames and blocks, and the ranges of motion vectors.
        for _ in 0..<4 { _ = reader.unsignedExponentialGolomb(unit) }
        let frames = reader.unsignedExponentialGolomb(unit)
        return reader.isExhausted || frames > 16 ? nil : Int(frames)
    }

    /// Skips the parameters of a hypothetical reference decoder (section E.1.2).
    private static func skipDecoderParameters(_ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        // The standard limits `cpb_cnt_minus1` to 31.
        let count = min(reader.unsignedExponentialGolomb(unit), 31)
        _ = reader.bits(8, unit)
        for _ in 0...count {
            _ = reader.unsignedExponentialGolomb(unit)
            _ = reader.unsignedExponentialGolomb(unit)
            _ = reader.bit(unit)
        }
        _ = reader.bits(20, unit)
    }

    /// Returns a NAL unit with this color description in its VUI, in place of any other. A range flag that is present
    /// is kept.
    ///
    /// - Parameters:
    ///   - color: The color description.
    ///   - unit: The NAL unit that this parameter set was parsed from.
    /// - Returns: The NAL unit; nil if the given one is truncated.
    package func describing(_ color: VideoColor, in unit: Span<UInt8>) -> [UInt8]? {
        let payload = H264BitReader.payload(of: unit)
        guard !isTruncated, let end = Self.end(of: payload), end >= max(vuiFlag + 1, signalEnd) else { return nil }
        var writer = H264BitWriter()
        let isFull = isFullRange ?? (color.range == .full)
        func writeSignal() {
            writer.write(1, 1)
            writer.write(format, 3)
            writer.write(isFull ? 1 : 0, 1)
            writer.write(1, 1)
            for code in [color.primaries, color.transfer, color.matrix.code] { writer.write(UInt32(code), 8) }
        }
        if let signalFlag {
            writer.copy(0..<signalFlag, of: payload)
            writeSignal()
            writer.copy(signalEnd..<end, of: payload)
        } else {
            writer.copy(0..<vuiFlag, of: payload)
            writer.write(1, 1)
            // No aspect ratio and no overscan.
            writer.write(0, 2)
            writeSignal()
            // No chroma location, timing, NAL and VCL parameters, picture structure or bitstream restrictions.
            writer.write(0, 6)
        }
        return writer.unit(unit[0])
    }

    /// Returns the bit position of the stop bit (section 7.3.2.11); nil without one.
    private static func end(of payload: [UInt8]) -> Int? {
        guard let last = payload.lastIndex(where: { $0 != 0 }) else { return nil }
        return last * 8 + 7 - payload[last].trailingZeroBitCount
    }
}

/// The sample aspect ratio: the width of a pixel to its height (ITU-T H.264, section E.2.1, `aspect_ratio_idc`).
package struct SampleAspectRatio: Hashable, Sendable {
    /// The width in any unit.
    package var width: Int32
    /// The height in the same unit.
    package var height: Int32

    /// Creates a ratio. Returns nil if it is unspecified or more extreme than 4:1, which no camera or encoder produces.
    package init?(_ width: Int32, _ height: Int32) {
        guard width > 0, height > 0, width <= 1 << 16, height <= 1 << 16, width <= 4 * height, height <= 4 * width
        else {
            return nil
        }
        (self.width, self.height) = (width, height)
    }

    /// Creates the ratio of an `aspect_ratio_idc` (table E-1). Returns nil for 0, which is unspecified, and for
    /// reserved values.
    init?(index: UInt32) {
        switch index {
        case 1: self.init(1, 1)
        case 2: self.init(12, 11)
        case 3: self.init(10, 11)
        case 4: self.init(16, 11)
        case 5: self.init(40, 33)
        case 6: self.init(24, 11)
        case 7: self.init(20, 11)
        case 8: self.init(32, 11)
        case 9: self.init(80, 33)
        case 10: self.init(18, 11)
        case 11: self.init(15, 11)
        case 12: self.init(64, 33)
        case 13: self.init(160, 99)
        case 14: self.init(4, 3)
        case 15: self.init(3, 2)
        case 16: self.init(2, 1)
        default: return nil
        }
    }

    /// Returns the size at which frames have square pixels. The longer side of the pixel grows, so that no detail is
    /// lost. Both sides are even. A frame that would exceed 8,192 pixels keeps its size.
    package func squareDimensions(of dimensions: Dimensions) -> Dimensions {
        let ratio = Double(width) / Double(height)
        // Ratios such as 1216:1215 come from rounded sizes.
        guard abs(ratio - 1) > 0.005 else { return dimensions }
        func even(_ length: Double) -> Int { max(2, Int((length / 2).rounded()) * 2) }
        var square = dimensions
        if ratio > 1 {
            square.width = even(Double(dimensions.width) * ratio)
        } else {
            square.height = even(Double(dimensions.height) / ratio)
        }
        return square.width <= 8_192 && square.height <= 8_192 ? square : dimensions
    }
}
