/// The capabilities of an audio source.
public struct AudioCapabilities: Hashable, Sendable {
    /// The sample rates of the hardware in Hz, ascending. Other rates than 48 kHz are resampled.
    public var sampleRates: [Int]
    /// The channels of the hardware. Mono is duplicated, and more than two channels are downmixed as required.
    public var channels: ClosedRange<Int>
    /// The settings that the driver lists.
    public var controls: [DeviceControl]
    /// The polar patterns that the hardware can be switched to or is known to have.
    public var polarPatterns: Set<PolarPattern>
    /// Whether echo cancellation is available. It is for microphones, but not for computed audio.
    public var canCancelEcho: Bool

    /// Creates capabilities.
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
