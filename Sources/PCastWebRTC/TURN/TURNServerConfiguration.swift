public import PCastCore

/// The parameters of a TURN server.
public struct TURNServerConfiguration: Sendable {
    /// The realm of the credentials.
    public var realm: String
    /// The secret from which credentials derive (`TURNCredentials`); random.
    public var secret: [UInt8]
    /// The relation of monotonic time to UTC, for the expiration of credentials.
    public var clock: WallClockReference
    /// The allowed peers, which are the media addresses of this platform. The first one of an address family, with
    /// another port, is the relayed address that clients see.
    public var peers: [TransportAddress]
    /// The maximum number of allocations of a user; others are rejected (486).
    public var maximumAllocationsPerUser: Int
    /// The maximum number of allocations of all users; others are rejected (486).
    public var maximumAllocations: Int

    /// Creates parameters; `secret` must not be empty.
    public init(
        realm: String = "pcast", secret: [UInt8], clock: WallClockReference, peers: [TransportAddress],
        maximumAllocationsPerUser: Int = 8, maximumAllocations: Int = 2_000
    ) {
        precondition(!secret.isEmpty)
        self.realm = realm
        self.secret = secret
        self.clock = clock
        self.peers = peers
        self.maximumAllocationsPerUser = maximumAllocationsPerUser
        self.maximumAllocations = maximumAllocations
    }
}
