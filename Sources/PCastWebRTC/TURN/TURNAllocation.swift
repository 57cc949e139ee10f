import PCastCore

/// The connection of a client to a TURN server, and its allocation.
struct TURNAllocation: Sendable {
    /// An Allocate request that waits for the driver to open a port.
    struct Pending: Sendable {
        let transactionID: STUNTransactionID
        let key: TURNKey
        let lifetime: TimeSpan
    }

    /// A binding of a channel to a peer (RFC 8656, section 12).
    private struct Channel: Sendable {
        let number: UInt16
        let peer: TransportAddress
        var expiry: Instant
    }

    /// The lifetime of a permission (RFC 8656, section 9).
    static let permissionLifetime = TimeSpan.seconds(300 as Int64)
    /// The lifetime of a channel binding (RFC 8656, section 12).
    static let channelLifetime = TimeSpan.seconds(600 as Int64)

    /// The maximum number of channels, more than there are peer addresses; others are rejected (508).
    static let maximumChannels = 16

    /// The time within which a client must make an allocation before the connection is closed.
    static let timeout = TimeSpan.seconds(10 as Int64)

    /// The number of consecutive errors after which the connection is closed.
    static let maximumErrors = 16

    /// The address of the client.
    let client: TransportAddress
    /// The reader of the client's stream.
    var reader = TURNStreamReader()
    /// The Allocate request without a response; nil if there is none.
    var pending: Pending?
    /// The user who made the allocation, who alone may use it; nil without an allocation.
    var username: String?
    /// The relayed transport address; nil before the port is open.
    var relayed: TransportAddress?
    /// The number of consecutive errors.
    var errors = 0
    /// The time at which the connection is closed, because nothing was allocated or the allocation was not refreshed.
    var expiry: Instant
    /// The expiration of each permission.
    private var permissions: [IPAddress: Instant] = [:]
    private var channels: [Channel] = []

    init(client: TransportAddress, at now: Instant) {
        self.client = client
        expiry = now + Self.timeout
    }

    /// Installs or refreshes a permission. The number of permissions is bounded by the allowed peers.
    mutating func permit(_ ip: IPAddress, at now: Instant) { permissions[ip] = now + Self.permissionLifetime }

    /// Returns whether a permission for an address exists.
    func isPermitted(_ ip: IPAddress, at now: Instant) -> Bool { permissions[ip].map { now < $0 } ?? false }

    /// Binds a channel to a peer, or refreshes the binding. Returns nil if it conflicts with another binding, and false
    /// if there are too many.
    mutating func bind(_ number: UInt16, to peer: TransportAddress, at now: Instant) -> Bool? {
        let expiry = now + Self.channelLifetime
        channels.removeAll { $0.expiry <= now }
        if let index = channels.firstIndex(where: { $0.number == number || $0.peer == peer }) {
            guard channels[index].number == number, channels[index].peer == peer else { return nil }
            channels[index].expiry = expiry
        } else {
            guard channels.count < Self.maximumChannels else { return false }
            channels.append(Channel(number: number, peer: peer, expiry: expiry))
        }
        permit(peer.ip, at: now)
        return true
    }

    /// Returns the peer of a channel; nil if the channel is not bound.
    func peer(ofChannel number: UInt16, at now: Instant) -> TransportAddress? {
        channels.first { $0.number == number && now < $0.expiry }?.peer
    }

    /// Returns the channel of a peer; nil if it has none.
    func channel(to peer: TransportAddress, at now: Instant) -> UInt16? {
        channels.first { $0.peer == peer && now < $0.expiry }?.number
    }
}
