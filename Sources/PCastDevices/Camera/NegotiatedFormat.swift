import CV4L2
import PCastCodecs
import PCastCore

/// The format of a camera as the driver answered.
///
/// Drivers choose the nearest values and report them. These are adopted, because frames of another size are better than
/// none. Only invalid formats are rejected.
struct NegotiatedFormat: Sendable {
    let code: FourCC
    /// The size that the driver reports, which may be odd.
    let dimensions: Dimensions
    /// The number of bytes per row; 0 if it is unknown.
    let stride: Int
    let isFullRange: Bool
    /// The matrix of luma and chroma.
    let matrix: MatrixCoefficients
    let frameRate: FrameRate

    /// Sets size and pixel format, then the frame rate. Throws `DriverError`.
    init(_ node: VideoNode, code: FourCC, dimensions: Dimensions, frameRate: FrameRate) throws(DriverError) {
        var format = cv4l2_format()
        format.width = UInt32(clamping: dimensions.width)
        format.height = UInt32(clamping: dimensions.height)
        format.pixelformat = code.code
        let error = cv4l2_set_format(node.descriptor, node.isMultiplanar, &format)
        guard error == 0 else { throw DriverError("S_FMT", error) }
        let answer = FourCC(format.pixelformat)
        let size = Dimensions(width: Int(format.width), height: Int(format.height))
        guard answer.encoding.isCapturable, CameraFormats.isPossible(size), format.planes == 1 else {
            throw DriverError("S_FMT to \(answer.name) of \(size)", EINVAL)
        }
        self.code = answer
        self.dimensions = size
        // A stride that is shorter than a row is invalid and counts as unknown.
        let least = answer.raw?.minimumStride(width: size.width) ?? 0
        stride = Int(format.stride) >= least ? Int(format.stride) : 0
        isFullRange = Self.isFullRange(format, answer)
        matrix = Self.matrix(format)
        self.frameRate = Self.set(frameRate, node) ?? frameRate
    }

    init(
        code: FourCC, dimensions: Dimensions, stride: Int, isFullRange: Bool, matrix: MatrixCoefficients = .bt601,
        frameRate: FrameRate
    ) {
        self.code = code
        self.dimensions = dimensions
        self.stride = stride
        self.isFullRange = isFullRange
        self.matrix = matrix
        self.frameRate = frameRate
    }

    /// The size of the delivered frames, without an odd last column or row.
    var evenDimensions: Dimensions { Dimensions(width: dimensions.width & ~1, height: dimensions.height & ~1) }

    /// Returns whether the samples have full range. Without a declaration, JPEG has full range, and so have luma-only
    /// formats, which sensors produce directly. All others have limited range, as V4L2 defines.
    private static func isFullRange(_ format: cv4l2_format, _ code: FourCC) -> Bool {
        switch format.quantization {
        case V4L2_QUANTIZATION_FULL_RANGE.rawValue: true
        case V4L2_QUANTIZATION_LIM_RANGE.rawValue: false
        default: code.isJPEG || code.raw == .grey || format.colorspace == V4L2_COLORSPACE_JPEG.rawValue
        }
    }

    /// Returns the matrix that the driver declares, or the default of the color space (V4L2,
    /// `V4L2_MAP_YCBCR_ENC_DEFAULT`).
    private static func matrix(_ format: cv4l2_format) -> MatrixCoefficients {
        switch format.encoding {
        case V4L2_YCBCR_ENC_709.rawValue, V4L2_YCBCR_ENC_XV709.rawValue: .bt709
        case V4L2_YCBCR_ENC_DEFAULT.rawValue where format.colorspace == V4L2_COLORSPACE_REC709.rawValue: .bt709
        default: .bt601
        }
    }

    /// Sets the rate and returns the driver's answer; nil if it does not support rates.
    private static func set(_ rate: FrameRate, _ node: VideoNode) -> FrameRate? {
        var (interval, canBeSet) = (v4l2_fract(), Int32(0))
        guard
            cv4l2_get_interval(
                node.descriptor, node.isMultiplanar, &interval.numerator, &interval.denominator, &canBeSet) == 0
        else { return nil }
        let current = FrameRate(interval: interval)
        guard canBeSet != 0 else { return current }
        var requestedInterval = v4l2_fract(
            numerator: UInt32(clamping: rate.denominator), denominator: UInt32(clamping: rate.numerator))
        let error = cv4l2_set_interval(
            node.descriptor, node.isMultiplanar, &requestedInterval.numerator, &requestedInterval.denominator)
        return error == 0 ? FrameRate(interval: requestedInterval) ?? current : current
    }
}

extension FrameRate {
    init?(interval: v4l2_fract) { self.init(interval: interval.numerator, interval.denominator) }

    /// Creates a rate from a frame interval in seconds. Returns nil for an invalid or implausible interval.
    init?(interval numerator: UInt32, _ denominator: UInt32) {
        let (seconds, parts) = (Int(numerator), Int(denominator))
        // The range is 31 bits, so that products of two do not overflow.
        guard (1...Int(Int32.max)).contains(seconds), (1...Int(Int32.max)).contains(parts),
            parts <= seconds * 1_000, seconds <= parts * 3_600
        else { return nil }
        let divisor = Self.greatestCommonDivisor(parts, seconds)
        self.init(parts / divisor, seconds / divisor)
    }

    private static func greatestCommonDivisor(_ first: Int, _ second: Int) -> Int {
        second == 0 ? first : greatestCommonDivisor(second, first % second)
    }
}
