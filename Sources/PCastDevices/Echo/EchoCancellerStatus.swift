package import PCastCore

/// The status of an echo canceller.
package struct EchoCancellerStatus: Hashable, Sendable {
    /// Whether it currently removes echo.
    package var isActive: Bool

    /// The delay between playing audio and capturing it; nil until it is known.
    package var delay: TimeSpan?

    /// The rate by which the microphone's clock is faster than that of the audio output, in parts per million.
    package var clockDrift: Double

    /// Creates a status.
    package init(isActive: Bool, delay: TimeSpan?, clockDrift: Double) {
        self.isActive = isActive
        self.delay = delay
        self.clockDrift = clockDrift
    }
}
