/// The location of a device on a phone or tablet (Phenix: `PhenixLocation`).
public enum DeviceLocation: String, Hashable, Sendable, CaseIterable {
    /// Any, in a constraint (default); unknown, of a device.
    case automatic
    /// At the top.
    case upper
    /// At the bottom.
    case lower
}
