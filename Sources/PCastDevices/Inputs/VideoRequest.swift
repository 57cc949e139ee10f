/// A request for a video source.
package struct VideoRequest: Hashable, Sendable {
    /// The source. If it is ambiguous, the best device is selected.
    package var source: SourceSpecification
    /// The constraints.
    package var constraints: DeviceConstraints

    /// Whether H.264 of a camera or an address is delivered without decoding, if it has no B-frames.
    package var passesThrough: Bool

    /// Creates a request.
    package init(
        _ source: SourceSpecification = .camera(id: nil), constraints: DeviceConstraints = [:],
        passesThrough: Bool = false
    ) {
        self.source = source
        self.constraints = constraints
        self.passesThrough = passesThrough
    }

    /// Whether the camera must keep its frame rate in the dark.
    var demandsFrameRate: Bool {
        constraints[.frameRate]?.contains { $0.kind == .min || $0.kind == .exact } ?? false
    }
}
