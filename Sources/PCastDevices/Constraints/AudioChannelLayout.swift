/// Mono or stereo (Phenix: `PhenixAudioChannelLayout`).
public enum AudioChannelLayout: String, Hashable, Sendable, CaseIterable {
    case mono
    case stereo

    /// The number of channels.
    public var channels: Int { self == .mono ? 1 : 2 }
}
