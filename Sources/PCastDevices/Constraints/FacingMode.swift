/// The direction that a camera faces (Phenix: `PhenixFacingMode`).
public enum FacingMode: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default). No device has this value.
    case automatic
    /// The direction is unknown.
    case undefined
    /// Towards the user of the machine.
    case user
    /// Away from the user.
    case environment
}
