/// Whether the audio that this process plays is removed from the microphone's signal (Phenix:
/// `PhenixAudioEchoCancelationMode`).
public enum AudioEchoCancellationMode: String, Hashable, Sendable, CaseIterable {
    /// While this process plays audio (default).
    case automatic
    /// Always.
    case on
    /// Never.
    case off
}
