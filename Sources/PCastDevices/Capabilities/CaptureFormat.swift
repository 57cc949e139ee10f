public import PCastCore

/// An encoding at a size or a range of sizes, with its frame rates.
public struct CaptureFormat: Hashable, Sendable {
    /// One or several frame sizes.
    public enum Sizes: Hashable, Sendable {
        case discrete(Dimensions)
        /// A range of sizes with a step, which is one pixel if the device calls it continuous.
        case stepwise(smallest: Dimensions, largest: Dimensions, step: Dimensions)
    }

    /// The frame rates.
    public enum Rates: Hashable, Sendable {
        /// A list, which is never empty, in descending order.
        case discrete([FrameRate])
        /// A range of frame intervals (1/rate), in steps or continuous.
        case range(slowest: FrameRate, fastest: FrameRate, isContinuous: Bool)
    }

    /// The encoding.
    public var encoding: CaptureEncoding
    /// The frame sizes.
    public var sizes: Sizes
    /// The frame rates at these sizes.
    public var rates: Rates

    /// Creates a format.
    public init(encoding: CaptureEncoding, sizes: Sizes, rates: Rates) {
        self.encoding = encoding
        self.sizes = sizes
        self.rates = rates
    }
}

/// The encoding of a camera's frames.
public enum CaptureEncoding: Hashable, Sendable {
    case yuyv
    case nv12
    case i420
    case mjpeg
    case h264

    /// Computed frames of any size, without conversion.
    case computed

    /// Another encoding, by its four characters (FourCC). It can be captured if `isCapturable` is true.
    case other(String)

    /// The name for display and for machine-readable output.
    public var name: String {
        switch self {
        case .yuyv: "YUYV"
        case .nv12: "NV12"
        case .i420: "I420"
        case .mjpeg: "MJPEG"
        case .h264: "H264"
        case .computed: "computed"
        case .other(let name): name
        }
    }
}
