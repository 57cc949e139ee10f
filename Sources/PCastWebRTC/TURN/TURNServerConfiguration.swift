package import PCastCore

/// The parameters of a TURN server.
package struct TURNServerConfiguration: Sendable {
    /// The realm of the credentials.
    package var realm: String
    /// The secret from which credentials derive (`TURNCredentials`); random.
    package var secret: [UInt8]
    /// The relation of monotonic time to UTC, for the expiration of credentials.
    package var clock: WallClockReference
    /// The allowed peers, which are the media addresses of this platform. The first one of an address family, with
    /// another port, is the relayed address that clients see.
    package var peers: [TransportAddress]
    /// The maximum number of allocations of a user; others are rejected (486).
    package var maximumAllocationsPerUser: Int
    /// The maximum number of allocations of all users; others are rejected (486).
    package var maximumAllocations: Int

    /// Creates parameters; `secret` must not be empty.
    package init(
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
