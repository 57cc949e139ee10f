/// A setting that a device's driver lists.
public struct DeviceControl: Hashable, Sendable {
    /// The kind of a setting, with its default value.
    public enum Kind: Hashable, Sendable {
        case integer(range: ClosedRange<Int64>, step: Int64, standard: Int64)
        case boolean(standard: Bool)
        case menu([String], standard: Int)
        case button
        /// Another kind, with the driver's name.
        case other(String)
    }

    /// The driver's name, such as "Focus, Automatic Continuous".
    public var name: String
    /// The kind and its default value.
    public var kind: Kind
    /// Whether the setting cannot be changed.
    public var isReadOnly: Bool

    /// Creates a control.
    public init(name: String, kind: Kind, isReadOnly: Bool = false) {
        self.name = name
        self.kind = kind
        self.isReadOnly = isReadOnly
    }
}
