/// The tracks of a stream that were asked to pause and have not resumed.
public struct PausedTracks: Hashable, Sendable {
    /// The video layers, as a bit mask.
    public var layers: UInt8 = 0
    /// Whether audio is paused.
    public var audio = false

    /// Creates a value without paused tracks.
    public init() {}
}
