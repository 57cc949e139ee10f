/// The pictures that are asked for.
public struct VideoRequest: Hashable, Sendable {
    /// Where from; the best of what is meant, where the specification leaves that open.
    public var source: SourceSpecification
    public var constraints: DeviceConstraints

    /// Whether pictures that come coded (H.264 of a camera or an address, without B-frames) are delivered so.
    public var passesThrough: Bool

    public init(
        _ source: SourceSpecification = .camera(id: nil), constraints: DeviceConstraints = [:],
        passesThrough: Bool = false
    ) {
        self.source = source
        self.constraints = constraints
        self.passesThrough = passesThrough
    }

    /// Whether a camera may not take longer over a picture in the dark.
    var demandsFrameRate: Bool {
        constraints[.frameRate]?.contains { $0.kind == .min || $0.kind == .exact } ?? false
    }
}
