public import PCastCore

/// The status of an echo canceller.
public struct EchoCancellerStatus: Hashable, Sendable {
    /// Whether it currently removes echo.
    public var isActive: Bool

    /// The delay between playing audio and capturing it; nil until it is known.
    public var delay: TimeSpan?

    /// The rate by which the microphone's clock is faster than that of the audio output, in parts per million.
    public var clockDrift: Double

    /// Creates a status.
    public init(isActive: Bool, delay: TimeSpan?, clockDrift: Double) {
        self.isActive = isActive
        self.delay = delay
        self.clockDrift = clockDrift
    }
}
