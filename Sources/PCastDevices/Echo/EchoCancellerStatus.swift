public import PCastMedia

/// What an echo canceller does, and what it has found out about the way from the loudspeakers to the microphone.
public struct EchoCancellerStatus: Hashable, Sendable {
    /// Whether it takes echo out at the moment.
    public var isActive: Bool

    /// How long after its time a sound is first heard; nil until it was found.
    public var delay: TimeSpan?

    /// How much faster the microphone's clock runs than the loudspeakers', in parts per million.
    public var clockDrift: Double

    public init(isActive: Bool, delay: TimeSpan?, clockDrift: Double) {
        self.isActive = isActive
        self.delay = delay
        self.clockDrift = clockDrift
    }
}
