public import PCastCore

/// The estimated state of the path to a peer. Bit rates include IP and UDP headers.
public struct BandwidthEstimate: Hashable, Sendable {
    /// The bit rate that may be sent, all tracks together.
    public var target: Bitrate
    /// The bit rate that arrives at the peer; nil if the peer does not report it.
    public var acknowledged: Bitrate?
    /// The loss rate of recent packets, from 0 to 1.
    public var lossRate: Double
    /// The round-trip time; nil before it was measured.
    public var roundTrip: TimeSpan?
    /// The queuing delay of packets on the path; nil if the peer does not report arrival times.
    public var queueDelay: TimeSpan?
    /// Whether less is sent than allowed, so that the target is not a recent measurement.
    public var isApplicationLimited: Bool
    /// Whether the path carries less than is wanted.
    public var isLimited: Bool
    /// Whether more was sent than the path carries, so that packets are queued on it.
    public var isCongested: Bool
}
