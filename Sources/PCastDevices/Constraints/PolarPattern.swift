/// From which directions a microphone hears (Phenix: `PhenixPolarPattern`).
public enum PolarPattern: String, Hashable, Sendable, CaseIterable {
    /// As a wish: whichever (the default). Of a device: not known.
    case automatic
    /// From all alike.
    case omnidirectional
    /// From ahead, and hardly from behind.
    case cardioid
    /// From ahead, and less from behind.
    case subcardioid
}
