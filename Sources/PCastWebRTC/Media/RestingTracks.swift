/// Which tracks of a stream were asked to pause and are not known to play again.
public struct RestingTracks: Hashable, Sendable {
    /// Of the video, as bits.
    public var layers: UInt8 = 0
    public var audio = false

    public init() {}
}
