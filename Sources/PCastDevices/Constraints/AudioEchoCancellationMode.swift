/// Whether what this machine plays is taken out of what its microphone hears (Phenix:
/// `PhenixAudioEchoCancelationMode`).
public enum AudioEchoCancellationMode: String, Hashable, Sendable, CaseIterable {
    /// While this process plays sound (the default).
    case automatic
    /// Always.
    case on
    /// Never.
    case off
}
