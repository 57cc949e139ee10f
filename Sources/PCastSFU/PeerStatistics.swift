public import PCastCore

/// The counters of one peer since it was admitted.
public struct PeerStatistics: Hashable, Sendable {
    /// The number of packets that arrived from a publisher or were sent to a viewer.
    public var packets: Int
    /// The number of bytes of these packets.
    public var bytes: Int
    /// The number of packets lost on the way from a publisher or to a viewer.
    public var packetsLost: Int
    /// The number of negative acknowledgements (RFC 4585, section 6.2.1).
    public var nackCount: Int
    /// The number of picture loss indications (RFC 4585, section 6.3.1).
    public var pliCount: Int
    /// The round-trip time; nil while it is unknown.
    public var roundTrip: TimeSpan?
    /// Whether the peer is currently not reachable.
    public var isAway: Bool
    /// The number of viewers if the peer is a publisher.
    public var viewers: Int
}
