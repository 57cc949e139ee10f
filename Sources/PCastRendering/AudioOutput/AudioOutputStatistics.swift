package import PCastCore

/// The statistics of an audio output since it was opened.
package struct AudioOutputStatistics: Hashable, Sendable {
    /// The number of samples per channel at 48 kHz that were played, without silence between them.
    package var samplesPlayed = 0

    /// The number of samples per channel at 48 kHz that were skipped because they were late.
    package var samplesSkipped = 0

    /// The number of interruptions because the next audio was missing.
    package var breaks = 0

    /// The number of underruns and restarts of the device.
    package var xruns = 0

    /// The current time from writing audio to the device until it is played; zero without a device.
    package var latency = TimeSpan.zero

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    package var drift = 0.0

    /// The reason why there is no device; nil if there is one.
    package var failure: String?

    /// Creates statistics with zeros.
    package init() {}
}
