/// How a source of sound is opened: what the constraint solver chose.
public struct AudioConfiguration: Hashable, Sendable {
    public var channels: AudioChannelLayout
    public var polarPattern: PolarPattern
    public var echoCancellation: AudioEchoCancellationMode

    public init(
        channels: AudioChannelLayout = .stereo, polarPattern: PolarPattern = .automatic,
        echoCancellation: AudioEchoCancellationMode = .automatic
    ) {
        self.channels = channels
        self.polarPattern = polarPattern
        self.echoCancellation = echoCancellation
    }
}
