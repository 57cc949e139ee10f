/// Where on a telephone or a tablet a device is mounted (Phenix: `PhenixLocation`).
public enum DeviceLocation: String, Hashable, Sendable, CaseIterable {
    /// As a wish: any (the default). Of a device: not known.
    case automatic
    /// At its top.
    case upper
    /// At its bottom.
    case lower
}
