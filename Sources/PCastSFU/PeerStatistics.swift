public import PCastCore

/// What a relay has counted for one peer since it came.
public struct PeerStatistics: Hashable, Sendable {
    public var packets: Int
    public var bytes: Int
    public var packetsLost: Int
    public var nackCount: Int
    public var pliCount: Int
    public var roundTrip: TimeSpan?
    public var isAway: Bool
    /// Viewers, where the peer is a publisher.
    public var viewers: Int
}
