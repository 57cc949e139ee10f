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
