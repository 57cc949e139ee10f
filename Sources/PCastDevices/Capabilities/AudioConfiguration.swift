/// The configuration of an audio source, as the constraint solver chose it.
public struct AudioConfiguration: Hashable, Sendable {
    /// The number of channels.
    public var channels: AudioChannelLayout
    /// The polar pattern.
    public var polarPattern: PolarPattern
    /// The echo cancellation mode.
    public var echoCancellation: AudioEchoCancellationMode

    /// Creates a configuration.
    public init(
        channels: AudioChannelLayout = .stereo, polarPattern: PolarPattern = .automatic,
        echoCancellation: AudioEchoCancellationMode = .automatic
    ) {
        self.channels = channels
        self.polarPattern = polarPattern
        self.echoCancellation = echoCancellation
    }
}
