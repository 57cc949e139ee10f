/// A request for an audio source.
package struct AudioRequest: Hashable, Sendable {
    /// The source. If it is ambiguous, the best device is selected.
    package var source: SourceSpecification
    /// The constraints.
    package var constraints: DeviceConstraints

    /// Creates a request.
    package init(_ source: SourceSpecification = .microphone(id: nil), constraints: DeviceConstraints = [:]) {
        self.source = source
        self.constraints = constraints
    }
}
