/// The statistics of a microphone since it was started.
package struct MicrophoneStatistics: Hashable, Sendable {
    /// The number of delivered frames of 20 ms.
    package var frames = 0

    /// The number of overruns and restarts of the device.
    package var xruns = 0

    /// The number of samples of silence that replace lost audio.
    package var silentSamples = 0

    /// The number of implausible driver timestamps.
    package var implausibleTimestamps = 0

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    package var drift = 0.0

    /// Creates statistics with zeros.
    package init() {}
}
