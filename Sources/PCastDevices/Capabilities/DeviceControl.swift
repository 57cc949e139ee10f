/// A setting of a device as its driver lists it.
public struct DeviceControl: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case integer(range: ClosedRange<Int64>, step: Int64, standard: Int64)
        case boolean(standard: Bool)
        case menu([String], standard: Int)
        case button
        /// By the driver's own name of its kind.
        case other(String)
    }

    /// The driver's name, such as "Focus, Automatic Continuous".
    public var name: String
    public var kind: Kind
    public var isReadOnly: Bool

    public init(name: String, kind: Kind, isReadOnly: Bool = false) {
        self.name = name
        self.kind = kind
        self.isReadOnly = isReadOnly
    }
}
