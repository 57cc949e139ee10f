/// A request for an audio source.
public struct AudioRequest: Hashable, Sendable {
    /// The source. If it is ambiguous, the best device is selected.
    public var source: SourceSpecification
    /// The constraints.
    public var constraints: DeviceConstraints

    /// Creates a request.
    public init(_ source: SourceSpecification = .microphone(id: nil), constraints: DeviceConstraints = [:]) {
        self.source = source
        self.constraints = constraints
    }
}
