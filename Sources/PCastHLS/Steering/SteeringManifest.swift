public import PCastMedia

/// What a steering server says (RFC 8216bis, section 7.2). Clones of pathways are not made.
public struct SteeringManifest: Hashable, Sendable {
    /// The one that is known.
    public static let version = 1
    /// Where the server does not say.
    public static let usualTimeToLive = TimeSpan.seconds(300 as Int64)
    /// The longest manifest, in bytes, and the most pathways that are looked at.
    public static let sizeLimit: Int64 = 256 << 10
    public static let pathwayLimit = 64

    /// After so long it is asked for again.
    public var timeToLive: TimeSpan
    /// Where it is to be had from then on, relative to where this one was; nil for there.
    public var reloadURI: String?
    /// The best first.
    public var priority: [String]

    public init(
        timeToLive: TimeSpan = SteeringManifest.usualTimeToLive, reloadURI: String? = nil, priority: [String]
    ) {
        (self.timeToLive, self.reloadURI, self.priority) = (timeToLive, reloadURI, priority)
    }
}
