public import PCastCore

/// The statistics of an audio output since it was opened.
public struct AudioOutputStatistics: Hashable, Sendable {
    /// The number of samples per channel at 48 kHz that were played, without silence between them.
    public var samplesPlayed = 0

    /// The number of samples per channel at 48 kHz that were skipped because they were late.
    public var samplesSkipped = 0

    /// The number of interruptions because the next audio was missing.
    public var breaks = 0

    /// The number of underruns and restarts of the device.
    public var xruns = 0

    /// The current time from writing audio to the device until it is played; zero without a device.
    public var latency = TimeSpan.zero

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    public var drift = 0.0

    /// The reason why there is no device; nil if there is one.
    public var failure: String?

    /// Creates statistics with zeros.
    public init() {}
}
