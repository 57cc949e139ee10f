public import PCastMedia

/// One encoding at one size, or one range of sizes, and the rates that go with it.
public struct CaptureFormat: Hashable, Sendable {
    public enum Sizes: Hashable, Sendable {
        case discrete(Dimensions)
        /// From the smallest to the largest in steps; of one pixel where the device calls it continuous.
        case stepwise(smallest: Dimensions, largest: Dimensions, step: Dimensions)
    }

    public enum Rates: Hashable, Sendable {
        /// Never empty, the highest first.
        case discrete([FrameRate])
        /// Frame intervals (1/rate) in steps, or continuous when there is no step.
        case range(slowest: FrameRate, fastest: FrameRate, isContinuous: Bool)
    }

    public var encoding: CaptureEncoding
    public var sizes: Sizes
    public var rates: Rates

    public init(encoding: CaptureEncoding, sizes: Sizes, rates: Rates) {
        self.encoding = encoding
        self.sizes = sizes
        self.rates = rates
    }
}
