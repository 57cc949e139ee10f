package import PCastCore

/// A TURN server (RFC 8656) for clients that connect by TCP or TLS where UDP is blocked. It relays only to the media
/// addresses of this platform.
///
/// The driver accepts connections, passes their bytes, opens a UDP port for each allocation on request, and performs
/// the outputs of ``poll()``. Credentials are long-term credentials with a short lifetime (`TURNCredentials`).
package struct TURNServer: Sendable {
    /// The driver's number of a connection, which is used once.
    package typealias Connection = UInt32

    /// An action for the driver.
    package enum Output: Hashable, Sendable {
        /// Send bytes to a connection.
        case send([UInt8], Connection)
        /// Open a UDP port for a connection. The driver calls ``opened(_:on:at:)`` or ``openingFailed(on:)``.
        case open(Connection)
        /// Send a datagram from the port of a connection.
        case relay([UInt8], to: TransportAddress, Connection)
        /// Close a connection and its port.
        case close(Connection)
    }

    let configuration: TURNServerConfiguration
    let nonces: TURNNonce
    /// The connections and their allocations.
    var allocations: [Connection: TURNAllocation] = [:]
    /// The connections and allocations of each IPv4 address or IPv6 /64 network.
    var uses: [IPAddress: TURNAddressUse] = [:]
    /// A time not later than the first expiration; nil if there are no connections.
    var nextExpiry: Instant?
    private var outputs: [Output] = []
    private var firstOutput = 0
    private var generator: any RandomNumberGenerator & Sendable

    /// The maximum number of connections, with or without an allocation. For a new one, the oldest connection without an
    /// allocation is closed. If there is none, the new one is closed.
    package static let maximumConnections = 4_096
    /// The maximum number of connections without an allocation per IPv4 address or IPv6 /64 network. For a new one, the
    /// oldest of them is closed.
    package static let maximumWaitingPerAddress = 128

    /// The number of rejected requests and dropped datagrams.
    package internal(set) var refusals = 0

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - configuration: The parameters.
    ///   - generator: A cryptographically secure generator, because it creates the key of nonces.
    package init(configuration: TURNServerConfiguration, generator: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.generator = generator
        var key: [UInt8] = []
        for _ in 0..<4 { withByteView(of: self.generator.next()) { key += $0 } }
        nonces = TURNNonce(key: key)
    }

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? {
        guard firstOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            firstOutput = 0
            return nil
        }
        defer { firstOutput += 1 }
        return outputs[firstOutput]
    }

    mutating func put(_ output: Output) { outputs.append(output) }

    /// The number of clients with an allocation, including those whose port is being opened.
    package var allocationCount: Int { allocations.values.count { $0.username != nil } }

    // MARK: Connections

    /// Reports a new connection. If there are too many, it is closed, or the oldest one without an allocation.
    package mutating func connected(_ connection: Connection, from client: TransportAddress, at now: Instant) {
        precondition(allocations[connection] == nil, "a connection ID must be unique")
        let block = TURNAddressUse.block(client.ip)
        if let waiting = uses[block]?.waiting, waiting.count >= Self.maximumWaitingPerAddress { close(waiting[0]) }
        if allocations.count >= Self.maximumConnections {
            guard let oldest = oldestWaiting else { return put(.close(connection)) }
            close(oldest)
        }
        let allocation = TURNAllocation(client: client, at: now)
        allocations[connection] = allocation
        uses[block, default: TURNAddressUse()].waiting.append(connection)
        nextExpiry = Instant.earlier(nextExpiry, allocation.expiry)
    }

    /// The oldest connection without an allocation; nil if all have one. All of them have the same timeout.
    private var oldestWaiting: Connection? {
        let oldest = uses.values.lazy.compactMap { $0.waiting.first }
        return oldest.min { left, right in
            guard let left = allocations[left], let right = allocations[right] else { return false }
            return left.expiry < right.expiry
        }
    }

    /// Reports that a connection was closed by the client or an error.
    package mutating func disconnected(_ connection: Connection) { remove(connection) }

    /// Removes a connection. Returns whether it existed.
    @discardableResult
    private mutating func remove(_ connection: Connection) -> Bool {
        guard let allocation = allocations.removeValue(forKey: connection) else { return false }
        let block = TURNAddressUse.block(allocation.client.ip)
        uses[block]?.remove(connection, hasAllocation: allocation.username != nil)
        if uses[block]?.isEmpty == true { uses[block] = nil }
        return true
    }

    /// Records the user of an allocation that is being made, or nil if it has failed.
    mutating func setUser(_ username: String?, of connection: Connection) {
        guard let allocation = allocations[connection] else { return }
        let block = TURNAddressUse.block(allocation.client.ip)
        uses[block]?.remove(connection, hasAllocation: allocation.username != nil)
        uses[block]?.add(connection, hasAllocation: username != nil)
        allocations[connection]?.username = username
    }

    /// Processes received bytes of a connection.
    package mutating func received(_ bytes: some Sequence<UInt8>, on connection: Connection, at now: Instant) {
        allocations[connection]?.reader.append(bytes)
        while let next = allocations[connection]?.reader.next() {
            switch next {
            case .incomplete: return
            case .broken: return close(connection)
            case .frame(.channelData(let channel, let bytes)): relay(bytes, channel: channel, connection, at: now)
            case .frame(.message(let bytes)):
                guard let message = TURNMessage(bytes) else { return close(connection) }
                handle(message, on: connection, at: now)
            }
        }
    }

    mutating func close(_ connection: Connection) {
        guard remove(connection) else { return }
        put(.close(connection))
    }

    // MARK: Ports

    /// Reports that the port of a connection is open, and responds to the Allocate request.
    package mutating func opened(_ port: UInt16, on connection: Connection, at now: Instant) {
        guard let pending = allocations[connection]?.pending, let client = allocations[connection]?.client,
            let peer = configuration.peers.first
        else { return }
        let relayed = TransportAddress(ip: peer.ip, port: port)
        allocations[connection]?.pending = nil
        allocations[connection]?.relayed = relayed
        allocations[connection]?.expiry = now + pending.lifetime
        var writer = TURNMessageWriter(.allocate, .success, pending.transactionID)
        writer.add(TURNAttributeType.xorRelayedAddress, address: relayed)
        writer.add(TURNAttributeType.lifetime, number: UInt32(pending.lifetime.nanoseconds / 1_000_000_000))
        writer.add(STUNAttributeType.xorMappedAddress, address: client)
        put(.send(writer.finish(pending.key), connection))
    }

    /// Reports that no port could be opened, and responds to the Allocate request with an error.
    package mutating func openingFailed(on connection: Connection) {
        guard let pending = allocations[connection]?.pending else { return }
        allocations[connection]?.pending = nil
        setUser(nil, of: connection)
        var writer = TURNMessageWriter(.allocate, .error, pending.transactionID)
        writer.add(errorCode: TURNErrorCode.insufficientCapacity)
        put(.send(writer.finish(pending.key), connection))
    }

    /// Processes a datagram that arrived at the port of a connection. `peer` is the address that the client knows as
    /// its sender.
    package mutating func relayed(
        _ bytes: [UInt8], from peer: TransportAddress, on connection: Connection, at now: Instant
    ) {
        guard let allocation = allocations[connection], allocation.relayed != nil,
            bytes.count <= Self.maximumDatagramSize
        else { return }
        if let channel = allocation.channel(to: peer, at: now) {
            put(.send(TURNStreamReader.channelData(channel, bytes), connection))
        } else if allocation.isPermitted(peer.ip, at: now) {
            var writer = TURNMessageWriter(.data, .indication, .random(using: &generator))
            writer.add(TURNAttributeType.xorPeerAddress, address: peer)
            writer.add(TURNAttributeType.data, bytes)
            put(.send(writer.finish(nil), connection))
        }
    }

    /// The maximum size of a relayed datagram in bytes; larger ones are dropped. Media has none.
    static let maximumDatagramSize = 1_500

    /// Relays channel data to the peer of a channel.
    private mutating func relay(_ bytes: [UInt8], channel: UInt16, _ connection: Connection, at now: Instant) {
        guard let allocation = allocations[connection], allocation.relayed != nil,
            let peer = allocation.peer(ofChannel: channel, at: now), bytes.count <= Self.maximumDatagramSize
        else {
            refusals += 1
            return
        }
        put(.relay(bytes, to: peer, connection))
    }

    // MARK: Time

    /// The time at which ``advance(to:)`` must be called; nil if there are no connections.
    package var deadline: Instant? { nextExpiry }

    /// Closes connections whose time has expired.
    package mutating func advance(to now: Instant) {
        guard let nextExpiry, nextExpiry <= now else { return }
        for (connection, allocation) in allocations where allocation.expiry <= now { close(connection) }
        self.nextExpiry = allocations.values.map(\.expiry).min()
    }
}

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
    /// The maximum number of allocations of an IPv4 address or IPv6 /64 network, behind which many users may be; others
    /// are rejected (486).
    package var maximumAllocationsPerAddress: Int
    /// The maximum number of allocations of all users; others are rejected (486).
    package var maximumAllocations: Int

    /// Creates parameters; `secret` must not be empty.
    package init(
        realm: String = "pcast", secret: [UInt8], clock: WallClockReference, peers: [TransportAddress],
        maximumAllocationsPerUser: Int = 8, maximumAllocationsPerAddress: Int = 1_024, maximumAllocations: Int = 2_000
    ) {
        precondition(!secret.isEmpty)
        self.realm = realm
        self.secret = secret
        self.clock = clock
        self.peers = peers
        self.maximumAllocationsPerUser = maximumAllocationsPerUser
        self.maximumAllocationsPerAddress = maximumAllocationsPerAddress
        self.maximumAllocations = maximumAllocations
    }
}

/// The connections and allocations of one IPv4 address or IPv6 /64 network.
struct TURNAddressUse: Sendable {
    /// The connections without an allocation, oldest first.
    var waiting: [TURNServer.Connection] = []
    /// The number of connections with an allocation, including those whose port is being opened.
    private(set) var allocations = 0

    /// Whether there is no connection.
    var isEmpty: Bool { waiting.isEmpty && allocations == 0 }

    /// Returns the unit that is limited: an IPv4 address, or an IPv6 /64 network, because a site has at least all
    /// addresses of one (RFC 6177).
    static func block(_ address: IPAddress) -> IPAddress {
        address.family == .v6 ? IPAddress(v6: address.v6.high, 0) : address
    }

    mutating func add(_ connection: TURNServer.Connection, hasAllocation: Bool) {
        if hasAllocation { allocations += 1 } else { waiting.append(connection) }
    }

    mutating func remove(_ connection: TURNServer.Connection, hasAllocation: Bool) {
        if hasAllocation {
            allocations -= 1
        } else if let index = waiting.firstIndex(of: connection) {
            waiting.remove(at: index)
        }
    }
}

/// Stateless nonces: each contains the time of its creation and a code of it by a key of the server.
///
/// The first thirteen characters tell clients that they can choose a password algorithm (RFC 8489, section 9.2).
struct TURNNonce: Sendable {
    /// The nonce cookie and the security feature bits (RFC 8489, section 9.2).
    private static let features = "obMatJos2gAAA"

    /// The lifetime of a nonce. A request with an older one receives a new nonce; the maximum is an hour (RFC 8656,
    /// section 5).
    static let nonceLifetime = TimeSpan.seconds(600 as Int64)

    /// The key of the server.
    let key: [UInt8]

    /// Returns a nonce for a client, which another client cannot use.
    func make(for client: String, at now: Instant) -> String {
        let time = String(now.nanoseconds / 1_000_000_000, radix: 16)
        return Self.features + time + "-" + code(time, client)
    }

    /// Returns whether a nonce was created for the client within its lifetime.
    func isFresh(_ nonce: String, for client: String, at now: Instant) -> Bool {
        guard nonce.hasPrefix(Self.features), nonce.utf8.count <= 128 else { return false }
        let parts = nonce.dropFirst(Self.features.count).split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let seconds = Int64(parts[0], radix: 16),
            HMACCode.isEqual(Array(parts[1].utf8), Array(code(String(parts[0]), client).utf8))
        else { return false }
        let age = now.nanoseconds / 1_000_000_000 - seconds
        return age >= 0 && age <= Self.nonceLifetime.nanoseconds / 1_000_000_000
    }

    /// Returns the code of a time and a client, 18 bytes in Base64.
    private func code(_ time: String, _ client: String) -> String {
        Base64.encode(Array(HMACCode.make(.sha256, key: key, of: Array("\(time) \(client)".utf8))[..<18]))
    }
}

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
