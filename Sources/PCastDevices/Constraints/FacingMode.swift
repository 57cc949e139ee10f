/// Where a camera looks (Phenix: `PhenixFacingMode`).
public enum FacingMode: String, Hashable, Sendable, CaseIterable {
    /// As a wish: whichever (the default). Never said of a device.
    case automatic
    /// Of a device that nobody knows it of.
    case undefined
    /// At the person who uses the machine.
    case user
    /// At the surroundings.
    case environment
}
