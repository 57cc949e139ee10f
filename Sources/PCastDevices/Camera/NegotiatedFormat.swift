import CV4L2
import PCastCodecs
import PCastMedia

/// What a camera streams, as its driver answered to what was asked for.
///
/// Drivers set the nearest that they can and say so; that is taken as it is, because a picture of another size is worth
/// more than none. Only what cannot be a picture is refused.
struct NegotiatedFormat: Sendable {
    let code: FourCC
    /// As the driver says them, also odd.
    let dimensions: Dimensions
    /// Bytes from row to row; 0 when the driver does not say.
    let stride: Int
    let isFullRange: Bool
    /// Of luma and chroma.
    let matrix: MatrixCoefficients
    let frameRate: FrameRate

    /// Sets size and pixels, and then the rate.
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
        // A row cannot be shorter than its pixels: a driver that says so does not know.
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

    /// Pictures are delivered without an odd last column or row.
    var evenDimensions: Dimensions { Dimensions(width: dimensions.width & ~1, height: dimensions.height & ~1) }

    /// COD6. What a driver leaves open is full for JPEG's colours and for pictures without colours, as sensors give them,
    /// and limited for all others, as V4L2 defines.
    private static func isFullRange(_ format: cv4l2_format, _ code: FourCC) -> Bool {
        switch format.quantization {
        case V4L2_QUANTIZATION_FULL_RANGE.rawValue: true
        case V4L2_QUANTIZATION_LIM_RANGE.rawValue: false
        default: code.isJPEG || code.raw == .grey || format.colorspace == V4L2_COLORSPACE_JPEG.rawValue
        }
    }

    /// As the driver says, or as its colour space has it by default (V4L2, `V4L2_MAP_YCBCR_ENC_DEFAULT`).
    private static func matrix(_ format: cv4l2_format) -> MatrixCoefficients {
        switch format.encoding {
        case V4L2_YCBCR_ENC_709.rawValue, V4L2_YCBCR_ENC_XV709.rawValue: .bt709
        case V4L2_YCBCR_ENC_DEFAULT.rawValue where format.colorspace == V4L2_COLORSPACE_REC709.rawValue: .bt709
        default: .bt601
        }
    }

    /// Answers the rate that the driver makes of it; nil for drivers that know none.
    private static func set(_ rate: FrameRate, _ node: VideoNode) -> FrameRate? {
        var (interval, canBeSet) = (v4l2_fract(), Int32(0))
        guard
            cv4l2_get_interval(
                node.descriptor, node.isMultiplanar, &interval.numerator, &interval.denominator, &canBeSet) == 0
        else { return nil }
        let current = FrameRate(interval: interval)
        guard canBeSet != 0 else { return current }
        var wish = v4l2_fract(
            numerator: UInt32(clamping: rate.denominator), denominator: UInt32(clamping: rate.numerator))
        let error = cv4l2_set_interval(node.descriptor, node.isMultiplanar, &wish.numerator, &wish.denominator)
        return error == 0 ? FrameRate(interval: wish) ?? current : current
    }
}
