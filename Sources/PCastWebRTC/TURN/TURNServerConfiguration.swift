public import PCastMedia

/// What a TURN server is made with.
public struct TURNServerConfiguration: Sendable {
    public var realm: String
    /// Credentials are made from it (`TURNCredentials`); random.
    public var secret: [UInt8]
    /// Tells whether credentials have run out.
    public var clock: WallClockReference
    /// The only addresses that anything is relayed to: our own media. The first of a family is what clients are told of
    /// where they are relayed from, with another port.
    public var peers: [TransportAddress]
    /// Further ones are refused (486), by user and in all.
    public var maximumAllocationsPerUser: Int
    public var maximumAllocations: Int

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
