/// What a source of sound can do.
public struct AudioCapabilities: Hashable, Sendable {
    /// Samples a second that the hardware takes, ascending; what is not 48 kHz is resampled.
    public var sampleRates: [Int]
    /// Of the hardware; one is doubled, and more than two are mixed down, to what is asked for.
    public var channels: ClosedRange<Int>
    public var controls: [DeviceControl]
    /// What the hardware can be switched to, or is known to be.
    public var polarPatterns: Set<PolarPattern>
    /// Whether what this process plays can be taken out of it: of microphones, not of what computation makes.
    public var canCancelEcho: Bool

    public init(
        sampleRates: [Int], channels: ClosedRange<Int>, controls: [DeviceControl] = [],
        polarPatterns: Set<PolarPattern> = [], canCancelEcho: Bool = false
    ) {
        self.sampleRates = sampleRates
        self.channels = channels
        self.controls = controls
        self.polarPatterns = polarPatterns
        self.canCancelEcho = canCancelEcho
    }
}
