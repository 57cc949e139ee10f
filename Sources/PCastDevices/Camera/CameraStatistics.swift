/// What became of a camera's pictures since it was started.
public struct CameraStatistics: Hashable, Sendable {
    /// Delivered.
    public var captured = 0
    /// Lost: by the driver, which leaves out their numbers when it has no buffer left, or passed over because newer ones
    /// were there already.
    public var dropped = 0
    /// Not delivered because they were broken: flagged by the driver, too short, not decodable, of a size that changes.
    public var damaged = 0
    /// Delivered with the moment at which they were taken from the driver, whose own time could not be.
    public var retimed = 0
    /// Times that streaming was begun anew because nothing came any more.
    public var restarted = 0

    public init() {}
}
