/// The statistics of a microphone since it was started.
public struct MicrophoneStatistics: Hashable, Sendable {
    /// The number of delivered frames of 20 ms.
    public var frames = 0

    /// The number of overruns and restarts of the device.
    public var xruns = 0

    /// The number of samples of silence that replace lost audio.
    public var silentSamples = 0

    /// The number of implausible driver timestamps.
    public var implausibleTimestamps = 0

    /// The deviation of the device's rate from its nominal rate, in parts per million; positive if it is faster.
    public var drift = 0.0

    /// Creates statistics with zeros.
    public init() {}
}
