/// Where a viewer stands to those who show the same picture at the same time (synchronised playout).
public enum PlayoutGroup: String, Hashable, Sendable, CaseIterable {
    /// The platform's clock is not known yet.
    case joining
    /// It shows what the others show.
    case member
    /// It cannot hold the stream's delay, and shows by its own need. It comes back when it can.
    case left
}
