/// The sound that is asked for.
public struct AudioRequest: Hashable, Sendable {
    /// Where from; the best of what is meant, where the specification leaves that open.
    public var source: SourceSpecification
    public var constraints: DeviceConstraints

    public init(_ source: SourceSpecification = .microphone(id: nil), constraints: DeviceConstraints = [:]) {
        self.source = source
        self.constraints = constraints
    }
}
