import PCastCore

/// The fields of an H.264 sequence parameter set that describe frames: size, interlacing, aspect ratio and color (ITU-T
/// H.264, sections 7.3.2.1.1 and E.1.1).
struct H264SPS {
    /// The size of the frame after cropping.
    let dimensions: Dimensions
    /// Whether all frames are progressive (`frame_mbs_only_flag`).
    let isProgressive: Bool
    private(set) var sampleAspectRatio: SampleAspectRatio?
    /// The value of `video_full_range_flag`; nil if it is absent.
    private(set) var isFullRange: Bool?
    /// The value of `matrix_coefficients`; nil if it is absent or unspecified.
    private(set) var matrixCode: UInt8?

    private let header: UInt8
    private let payload: [UInt8]
    private let end: Int
    /// The bit position of `vui_parameters_present_flag`.
    private let vuiFlag: Int
    private let hasVUI: Bool
    /// The bit position of `video_signal_type_present_flag`; nil without a VUI.
    private var signalFlag: Int?
    private var hasSignal = false
    private var format: UInt32 = 5
    /// The bit position after the color description, or where it would be.
    private var signalEnd = 0

    /// Parses a NAL unit. Returns nil if it is truncated or invalid.
    init?(_ unit: some Collection<UInt8>) {
        guard let header = unit.first, header & H264UnitType.mask == H264UnitType.sequenceParameterSet else {
            return nil
        }
        var reader = H264SyntaxReader(unit)
        guard let end = Self.end(of: reader.bytes), let geometry = Self.geometry(&reader) else { return nil }
        (self.header, payload, self.end) = (header, reader.bytes, end)
        (dimensions, isProgressive) = geometry
        vuiFlag = reader.position
        guard let hasVUI = reader.flag() else { return nil }
        self.hasVUI = hasVUI
        if hasVUI { guard readVUI(&reader) else { return nil } }
    }

    /// Returns the bit position of the stop bit (ITU-T H.264, section 7.3.2.11).
    private static func end(of payload: [UInt8]) -> Int? {
        guard let last = payload.lastIndex(where: { $0 != 0 }) else { return nil }
        return last * 8 + 7 - payload[last].trailingZeroBitCount
    }

    private static func geometry(_ reader: inout H264SyntaxReader) -> (Dimensions, isProgressive: Bool)? {
        guard let profile = reader.bits(8), reader.bits(16) != nil, reader.unsignedExponentialGolomb() != nil else {
            return nil
        }
        var chroma: UInt32 = 1
        if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(profile) {
            guard let format = skipHighProfile(&reader) else { return nil }
            chroma = format
        }
        guard skipOrder(&reader), reader.unsignedExponentialGolomb() != nil, reader.flag() != nil,
            let width = reader.unsignedExponentialGolomb(), let height = reader.unsignedExponentialGolomb(),
            width < 1_024, height < 1_024, let isProgressive = reader.flag()
        else { return nil }
        if !isProgressive { guard reader.flag() != nil else { return nil } }
        guard reader.flag() != nil, let isCropped = reader.flag() else { return nil }
        let fields = isProgressive ? 1 : 2
        var size = (width: (Int(width) + 1) * 16, height: (Int(height) + 1) * 16 * fields)
        if isCropped {
            var crop: [Int] = []
            for _ in 0..<4 {
                guard let side = reader.unsignedExponentialGolomb(), side < 16_384 else { return nil }
                crop.append(Int(side))
            }
            // The units of the cropping offsets in samples (ITU-T H.264, table 6-1).
            let unit = (x: chroma == 1 || chroma == 2 ? 2 : 1, y: (chroma == 1 ? 2 : 1) * fields)
            size.width -= (crop[0] + crop[1]) * unit.x
            size.height -= (crop[2] + crop[3]) * unit.y
        }
        guard size.width > 0, size.height > 0 else { return nil }
        return (Dimensions(width: size.width, height: size.height), isProgressive)
    }

    /// Skips the fields that only high profiles contain, and returns `chroma_format_idc`.
    private static func skipHighProfile(_ reader: inout H264SyntaxReader) -> UInt32? {
        guard let chroma = reader.unsignedExponentialGolomb(), chroma <= 3 else { return nil }
        if chroma == 3 { guard reader.flag() != nil else { return nil } }
        guard reader.unsignedExponentialGolomb() != nil, reader.unsignedExponentialGolomb() != nil,
            reader.flag() != nil,
            let hasMatrix = reader.flag()
        else { return nil }
        guard hasMatrix else { return chroma }
        for index in 0..<(chroma == 3 ? 12 : 8) {
            guard let isPresent = reader.flag() else { return nil }
            if isPresent { guard skipScalingList(&reader, index < 6 ? 16 : 64) else { return nil } }
        }
        return chroma
    }

    /// Skips a scaling list (ITU-T H.264, section 7.3.2.1.1.1).
    private static func skipScalingList(_ reader: inout H264SyntaxReader, _ size: Int) -> Bool {
        var (last, next): (Int32, Int32) = (8, 8)
        for _ in 0..<size {
            if next != 0 {
                guard let delta = reader.signedExponentialGolomb(), (-128...127).contains(delta) else { return false }
                next = (last + delta + 256) % 256
            }
            last = next == 0 ? last : next
        }
        return true
    }

    /// Skips `log2_max_frame_num_minus4` and the picture order count.
    private static func skipOrder(_ reader: inout H264SyntaxReader) -> Bool {
        guard reader.unsignedExponentialGolomb() != nil, let type = reader.unsignedExponentialGolomb() else {
            return false
        }
        if type == 0 { return reader.unsignedExponentialGolomb() != nil }
        guard type == 1 else { return type == 2 }
        guard reader.flag() != nil, reader.signedExponentialGolomb() != nil, reader.signedExponentialGolomb() != nil,
            let count = reader.unsignedExponentialGolomb(), count < 256
        else { return false }
        for _ in 0..<count { guard reader.signedExponentialGolomb() != nil else { return false } }
        return true
    }

    /// The sample aspect ratios by `aspect_ratio_idc` (ITU-T H.264, table E-1).
    private static let aspectRatios: [(Int32, Int32)] = [
        (0, 0), (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33), (18, 11),
        (15, 11),
        (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
    ]

    private mutating func readVUI(_ reader: inout H264SyntaxReader) -> Bool {
        guard let hasRatio = reader.flag() else { return false }
        if hasRatio {
            guard let index = reader.bits(8) else { return false }
            if index == 255 {
                guard let width = reader.bits(16), let height = reader.bits(16) else { return false }
                sampleAspectRatio = SampleAspectRatio(Int32(width), Int32(height))
            } else if Int(index) < Self.aspectRatios.count {
                let ratio = Self.aspectRatios[Int(index)]
                sampleAspectRatio = SampleAspectRatio(ratio.0, ratio.1)
            }
        }
        guard let hasOverscan = reader.flag() else { return false }
        if hasOverscan { guard reader.flag() != nil else { return false } }
        signalFlag = reader.position
        guard let hasSignal = reader.flag() else { return false }
        self.hasSignal = hasSignal
        if hasSignal {
            guard let format = reader.bits(3), let isFull = reader.flag(), let isDescribed = reader.flag() else {
                return false
            }
            (self.format, isFullRange) = (format, isFull)
            if isDescribed {
                guard reader.bits(16) != nil, let matrix = reader.bits(8) else { return false }
                matrixCode = matrix == 2 ? nil : UInt8(matrix)
            }
        }
        signalEnd = reader.position
        return true
    }

    /// Returns the NAL unit with this color description in its VUI, in place of any other. A range flag that is present
    /// is kept.
    func describing(_ color: VideoColor) -> [UInt8] {
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
            writer.copy(signalEnd..<max(end, signalEnd), of: payload)
        } else {
            writer.copy(0..<vuiFlag, of: payload)
            writer.write(1, 1)
            // No aspect ratio and no overscan.
            writer.write(0, 2)
            writeSignal()
            // No chroma location, timing, NAL and VCL parameters, picture structure or bitstream restrictions.
            writer.write(0, 6)
        }
        return writer.unit(header)
    }
}
