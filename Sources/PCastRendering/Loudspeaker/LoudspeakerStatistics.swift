public import PCastMedia

/// What a loudspeaker has done since it was opened.
public struct LoudspeakerStatistics: Hashable, Sendable {
    /// Sound that was put out, at 48 kHz, silence between it not counted.
    public var samplesPlayed = 0

    /// Sound that came too late, or was overtaken, and was left out, at 48 kHz.
    public var samplesSkipped = 0

    /// How often sound broke off, because the next had not come.
    public var breaks = 0

    /// How often the device ran dry because it was not written in time, or stopped and was started again.
    public var xruns = 0

    /// From when sound is handed to the device until it is heard, lately; zero while there is no device.
    public var latency = TimeSpan.zero

    /// How much faster than it says the device is, in parts per million.
    public var drift = 0.0

    /// Why there is no device at this moment; nil while there is.
    public var failure: String?

    public init() {}
}
