import PCastMedia

/// One client's connection to a TURN server, and what it has been given.
struct TURNAllocation: Sendable {
    /// An Allocate that waits for the driver to open a port.
    struct Pending: Sendable {
        let transactionID: STUNTransactionID
        let key: TURNKey
        let lifetime: TimeSpan
    }

    private struct Channel: Sendable {
        let number: UInt16
        let peer: TransportAddress
        var expiry: Instant
    }

    /// RFC 8656, section 8 and section 12.
    static let permissionLifetime = TimeSpan.seconds(300 as Int64)
    static let channelLifetime = TimeSpan.seconds(600 as Int64)

    /// As many as there can be addresses to relay to, and more; further ones are refused (508).
    static let maximumChannels = 16

    /// Who does not ask for anything sensible within that time is a stranger.
    static let patience = TimeSpan.seconds(10 as Int64)

    /// Errors in a row, after which a client will not learn any more.
    static let maximumErrors = 16

    let client: TransportAddress
    var reader = TURNStreamReader()
    var pending: Pending?
    /// Of whoever made the allocation; nobody else may use it.
    var username: String?
    var relayed: TransportAddress?
    var errors = 0
    /// When the connection is closed: nothing was allocated, or the allocation was not refreshed.
    var expiry: Instant
    private var permissions: [IPAddress: Instant] = [:]
    private var channels: [Channel] = []

    init(client: TransportAddress, at now: Instant) {
        self.client = client
        expiry = now + Self.patience
    }

    /// Bounded by the addresses that may be relayed to.
    mutating func permit(_ ip: IPAddress, at now: Instant) { permissions[ip] = now + Self.permissionLifetime }

    func isPermitted(_ ip: IPAddress, at now: Instant) -> Bool { permissions[ip].map { now < $0 } ?? false }

    /// Binds a channel to a peer, or keeps it bound; nil when that contradicts another binding, false when there are
    /// too many.
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

    func peer(ofChannel number: UInt16, at now: Instant) -> TransportAddress? {
        channels.first { $0.number == number && now < $0.expiry }?.peer
    }

    func channel(to peer: TransportAddress, at now: Instant) -> UInt16? {
        channels.first { $0.peer == peer && now < $0.expiry }?.number
    }
}
