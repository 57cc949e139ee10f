/// The polar pattern of a microphone (Phenix: `PhenixPolarPattern`).
public enum PolarPattern: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default); unknown, of a device.
    case automatic
    /// Equally sensitive in all directions.
    case omnidirectional
    /// Sensitive to the front and hardly to the rear.
    case cardioid
    /// Sensitive to the front and less to the rear.
    case subcardioid
}
