/// The state of a viewer in a group that presents the same frame at the same time (synchronized playout).
public enum PlayoutGroup: String, Hashable, Sendable, CaseIterable {
    /// The platform's clock is not known yet.
    case joining
    /// The viewer presents the same frame as the group.
    case member
    /// The viewer cannot achieve the delay of the group, and has its own delay. It joins again when it can.
    case left
}
