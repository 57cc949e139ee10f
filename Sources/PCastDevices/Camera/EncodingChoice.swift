import PCastCore

/// Chooses the encoding for a size and a rate if none is requested.
struct EncodingChoice {
    private let dimensions: Dimensions
    private let frameRate: FrameRate

    init(_ configuration: VideoConfiguration) {
        dimensions = configuration.dimensions
        frameRate = configuration.frameRate
    }

    /// Returns the encoding whose format is nearest to the size, then to the rate, then the cheapest to convert.
    /// Returns nil if no format can be captured.
    func best(of formats: [CaptureFormat]) -> CaptureEncoding? {
        formats.filter(\.encoding.isCapturable).min { rank($0) < rank($1) }?.encoding
    }

    private func rank(_ format: CaptureFormat) -> (Int, Double, Int) {
        (missingPixels(format.sizes), missingRate(format.rates), Self.work(format.encoding))
    }

    private func missingPixels(_ sizes: CaptureFormat.Sizes) -> Int {
        switch sizes {
        case .discrete(let size):
            return abs(size.width - dimensions.width) * dimensions.height
                + abs(size.height - dimensions.height) * dimensions.width
        case .stepwise(let smallest, let largest, _):
            return missingPixels(
                .discrete(
                    Dimensions(
                        width: min(max(dimensions.width, smallest.width), largest.width),
                        height: min(max(dimensions.height, smallest.height), largest.height))))
        }
    }

    private func missingRate(_ rates: CaptureFormat.Rates) -> Double {
        switch rates {
        case .discrete(let rates): rates.map { abs($0.perSecond - frameRate.perSecond) }.min() ?? 0
        case .range(let slowest, let fastest, _):
            max(0, slowest.perSecond - frameRate.perSecond, frameRate.perSecond - fastest.perSecond)
        }
    }

    private static func work(_ encoding: CaptureEncoding) -> Int {
        switch encoding {
        case .i420: 0
        case .nv12: 1
        case .yuyv: 2
        case .other, .computed: 3
        case .mjpeg: 4
        case .h264: 5
        }
    }
}
