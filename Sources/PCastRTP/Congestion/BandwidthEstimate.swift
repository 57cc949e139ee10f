public import PCastMedia

/// What is known of the path to a peer. Rates count bytes on the wire, IP and UDP included (CC10).
public struct BandwidthEstimate: Hashable, Sendable {
    /// What may be sent, all tracks together.
    public var target: Bitrate
    /// What arrives, as far as the peer tells.
    public var acknowledged: Bitrate?
    /// Of the packets sent in the last second or so, how many were lost; 0...1.
    public var lossRate: Double
    /// To the peer and back; nil before it was measured.
    public var roundTrip: TimeSpan?
    /// What packets wait on the path beyond its own delay; nil where the peer does not tell when they arrive.
    public var queueDelay: TimeSpan?
    /// Less is sent than might be, so the target is what was last known, and not what there is.
    public var isApplicationLimited: Bool
    /// The path was found to carry less than is wanted.
    public var isLimited: Bool
    /// More was sent than the path carries, and waits on it.
    public var isCongested: Bool
}
