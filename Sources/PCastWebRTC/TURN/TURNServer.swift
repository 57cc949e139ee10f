public import PCastMedia

/// A TURN server (RFC 8656) for clients that come by streams, as where nothing but TLS gets through, and that relays to
/// our own media alone.
///
/// A machine: the driver accepts connections and hands their bytes in, opens a UDP port for each allocation when it is
/// asked to, and does what `poll` answers. Credentials are long-term ones that last a short time (`TURNCredentials`).
public struct TURNServer: Sendable {
    /// A connection by the driver's number.
    public typealias Connection = UInt32

    public enum Output: Hashable, Sendable {
        /// Bytes for the stream.
        case send([UInt8], Connection)
        /// A port is wanted for what this client is relayed to; the driver answers by `opened` or `openingFailed`.
        case open(Connection)
        /// A datagram to leave from the client's port.
        case relay([UInt8], to: TransportAddress, Connection)
        /// The connection and its port are done with.
        case close(Connection)
    }

    let configuration: TURNServerConfiguration
    let nonces: TURNNonce
    var allocations: [Connection: TURNAllocation] = [:]
    /// Not later than the first expiry.
    var nextExpiry: Instant?
    private var outputs: [Output] = []
    private var firstOutput = 0
    private var generator: any RandomNumberGenerator & Sendable

    /// Clients at a time, allocation or not; further connections are closed.
    public static let maximumConnections = 4_096

    /// Requests, or packets, that were refused or led nowhere.
    public internal(set) var refusals = 0

    /// - Parameter generator: a secure one; it makes the key of nonces.
    public init(configuration: TURNServerConfiguration, generator: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.generator = generator
        var key: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: self.generator.next()) { key += $0 } }
        nonces = TURNNonce(key: key)
    }

    /// What the driver has to do; nil when nothing more.
    public mutating func poll() -> Output? {
        guard firstOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            firstOutput = 0
            return nil
        }
        defer { firstOutput += 1 }
        return outputs[firstOutput]
    }

    mutating func put(_ output: Output) { outputs.append(output) }

    /// Clients that a port is open for.
    public var allocationCount: Int { allocations.values.count { $0.username != nil } }

    // MARK: Connections

    public mutating func connected(_ connection: Connection, from client: TransportAddress, at now: Instant) {
        precondition(allocations[connection] == nil, "a connection's number is used once")
        guard allocations.count < Self.maximumConnections else { return put(.close(connection)) }
        let allocation = TURNAllocation(client: client, at: now)
        allocations[connection] = allocation
        nextExpiry = Instant.earlier(nextExpiry, allocation.expiry)
    }

    /// The client, or an error, closed the connection.
    public mutating func disconnected(_ connection: Connection) { allocations[connection] = nil }

    /// Bytes of the stream.
    public mutating func received(_ bytes: some Sequence<UInt8>, on connection: Connection, at now: Instant) {
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
        guard allocations.removeValue(forKey: connection) != nil else { return }
        put(.close(connection))
    }

    // MARK: Ports

    /// The port that was asked for is open.
    public mutating func opened(_ port: UInt16, on connection: Connection, at now: Instant) {
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

    /// There is no port.
    public mutating func openingFailed(on connection: Connection) {
        guard let pending = allocations[connection]?.pending else { return }
        allocations[connection]?.pending = nil
        allocations[connection]?.username = nil
        var writer = TURNMessageWriter(.allocate, .error, pending.transactionID)
        writer.add(errorCode: TURNErrorCode.insufficientCapacity)
        put(.send(writer.finish(pending.key), connection))
    }

    /// A datagram came to the client's port; `peer` is who the client knows as its sender.
    public mutating func relayed(
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

    /// Larger ones are dropped: no datagram of ours is.
    static let maximumDatagramSize = 1_500

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

    public var deadline: Instant? { nextExpiry }

    public mutating func advance(to now: Instant) {
        guard let nextExpiry, nextExpiry <= now else { return }
        for (connection, allocation) in allocations where allocation.expiry <= now { close(connection) }
        self.nextExpiry = allocations.values.map(\.expiry).min()
    }
}
