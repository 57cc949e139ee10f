/// What a microphone has done since it was started.
public struct MicrophoneStatistics: Hashable, Sendable {
    /// Frames of 20 ms that were delivered.
    public var frames = 0

    /// How often the device ran over because it was not read in time, or stopped and was started again.
    public var xruns = 0

    /// Samples of silence that stand for what was lost.
    public var silentSamples = 0

    /// Times of the driver that nobody can believe.
    public var doubtfulTimes = 0

    /// How much faster than it says the device is, in parts per million.
    public var drift = 0.0

    public init() {}
}
