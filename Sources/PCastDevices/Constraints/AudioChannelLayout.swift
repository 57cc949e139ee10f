/// One channel or two (Phenix: `PhenixAudioChannelLayout`).
public enum AudioChannelLayout: String, Hashable, Sendable, CaseIterable {
    case mono
    case stereo

    public var channels: Int { self == .mono ? 1 : 2 }
}
