import PCastCore

extension TURNServer {
    /// Processes a message of a client.
    mutating func handle(_ message: TURNMessage, on connection: Connection, at now: Instant) {
        switch (message.messageClass, message.method) {
        case (.request, .binding): answerBinding(message, connection)
        case (.request, .allocate), (.request, .refresh), (.request, .createPermission), (.request, .channelBind):
            guard let (key, username) = authenticate(message, connection, at: now) else { return }
            guard message.unknownAttributes.isEmpty else {
                return refuse(message, TURNErrorCode.unknownAttribute, key, connection) { writer in
                    writer.add(
                        STUNAttributeType.unknownAttributes,
                        message.unknownAttributes.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] })
                }
            }
            respond(to: message, key, username, connection, at: now)
        case (.request, .send), (.request, .data): refuse(message, TURNErrorCode.badRequest, nil, connection)
        case (.indication, .send): send(message, connection, at: now)
        case (.indication, _), (.success, _), (.error, _): break
        }
    }

    /// Processes an authenticated request.
    private mutating func respond(
        to message: TURNMessage, _ key: TURNKey, _ username: String, _ connection: Connection, at now: Instant
    ) {
        guard let allocation = allocations[connection] else { return }
        if message.method == .allocate {
            return allocate(message, key, username, connection, at: now)
        }
        guard allocation.relayed != nil else {
            return refuse(message, TURNErrorCode.allocationMismatch, key, connection)
        }
        guard allocation.username == username else {
            return refuse(message, TURNErrorCode.wrongCredentials, key, connection)
        }
        switch message.method {
        case .refresh: refresh(message, key, connection, at: now)
        case .createPermission: permit(message, key, connection, at: now)
        case .channelBind: bind(message, key, connection, at: now)
        case .binding, .allocate, .send, .data: break
        }
    }

    /// Responds to a Binding request, which needs no authentication.
    private mutating func answerBinding(_ message: TURNMessage, _ connection: Connection) {
        guard let client = allocations[connection]?.client else { return }
        var writer = TURNMessageWriter(.binding, .success, message.transactionID)
        writer.add(STUNAttributeType.xorMappedAddress, address: client)
        put(.send(writer.finish(nil), connection))
    }

    // MARK: Authentication

    /// Authenticates a request (RFC 8489, section 9.2.4). Returns nil if it has sent an error response.
    private mutating func authenticate(
        _ message: TURNMessage, _ connection: Connection, at now: Instant
    ) -> (TURNKey, username: String)? {
        guard let client = allocations[connection]?.client.description else { return nil }
        let isStrong = message.contains(TURNAttributeType.messageIntegritySHA256)
        guard isStrong || message.contains(STUNAttributeType.messageIntegrity) else {
            challenge(message, TURNErrorCode.unauthenticated, client, connection, at: now)
            return nil
        }
        guard let username = message.text(STUNAttributeType.username), message.contains(STUNAttributeType.realm),
            let nonce = message.text(STUNAttributeType.nonce), let algorithm = Self.algorithm(of: message)
        else {
            refuse(message, TURNErrorCode.badRequest, nil, connection)
            return nil
        }
        guard nonces.isFresh(nonce, for: client, at: now) else {
            challenge(message, TURNErrorCode.staleNonce, client, connection, at: now)
            return nil
        }
        let password = TURNCredentials.password(of: username, secret: configuration.secret)
        let key = TURNKey(algorithm, username: username, realm: configuration.realm, password: password)
        let isOwn = allocations[connection]?.username == username
        guard isStrong == (algorithm == .sha256), isOwn || hasTime(username, at: now), message.verify(key) else {
            challenge(message, TURNErrorCode.unauthenticated, client, connection, at: now)
            return nil
        }
        return (key, username)
    }

    /// Returns the password algorithm that the client has chosen, MD5 if it has not. Returns nil if the client received
    /// another list of algorithms, as in a downgrade attack (RFC 8489, section 9.2.1).
    private static func algorithm(of message: TURNMessage) -> TURNKey.Algorithm? {
        let offered = message.value(TURNAttributeType.passwordAlgorithms)
        let chosen = message.value(TURNAttributeType.passwordAlgorithm)
        guard let chosen else { return offered == nil ? .md5 : nil }
        guard offered.map(Array.init) == algorithms, chosen.count == 4 else { return nil }
        return TURNKey.Algorithm(rawValue: UInt16(chosen[chosen.startIndex + 1]))
    }

    /// The offered password algorithms, SHA-256 and MD5, each without parameters. SHA-256 is preferred.
    private static let algorithms: [UInt8] = [0, 2, 0, 0, 0, 1, 0, 0]

    /// Returns whether the credentials of a username have not expired.
    private func hasTime(_ username: String, at now: Instant) -> Bool {
        guard let expiry = TURNCredentials.expiry(of: username) else { return false }
        return configuration.clock.wallTime(at: now).nanosecondsSinceEpoch / 1_000_000_000 < expiry
    }

    /// Sends an error response with realm, nonce and password algorithms.
    private mutating func challenge(
        _ message: TURNMessage, _ code: Int, _ client: String, _ connection: Connection, at now: Instant
    ) {
        let nonce = nonces.make(for: client, at: now)
        let realm = configuration.realm
        refuse(message, code, nil, connection) { writer in
            writer.add(STUNAttributeType.realm, text: realm)
            writer.add(STUNAttributeType.nonce, text: nonce)
            writer.add(TURNAttributeType.passwordAlgorithms, Self.algorithms)
        }
    }

    /// Sends an error response. After too many consecutive ones it closes the connection.
    private mutating func refuse(
        _ message: TURNMessage, _ code: Int, _ key: TURNKey?, _ connection: Connection,
        _ body: (inout TURNMessageWriter) -> Void = { _ in }
    ) {
        refusals += 1
        var writer = TURNMessageWriter(message.method, .error, message.transactionID)
        writer.add(errorCode: code)
        body(&writer)
        put(.send(writer.finish(key), connection))
        allocations[connection]?.errors += 1
        if let errors = allocations[connection]?.errors, errors >= TURNAllocation.maximumErrors { close(connection) }
    }

    /// Sends a success response.
    private mutating func succeed(
        _ message: TURNMessage, _ key: TURNKey, _ connection: Connection,
        _ body: (inout TURNMessageWriter) -> Void = { _ in }
    ) {
        var writer = TURNMessageWriter(message.method, .success, message.transactionID)
        body(&writer)
        put(.send(writer.finish(key), connection))
        allocations[connection]?.errors = 0
    }

    // MARK: Requests

    /// Processes an Allocate request (RFC 8656, section 7.2).
    private mutating func allocate(
        _ message: TURNMessage, _ key: TURNKey, _ username: String, _ connection: Connection, at now: Instant
    ) {
        guard allocations[connection]?.username == nil else {
            return refuse(message, TURNErrorCode.allocationMismatch, key, connection)
        }
        guard let transport = message.code(TURNAttributeType.requestedTransport) else {
            return refuse(message, TURNErrorCode.badRequest, key, connection)
        }
        guard transport == Self.udp else { return refuse(message, TURNErrorCode.unsupportedTransport, key, connection) }
        guard offers(family: message.code(TURNAttributeType.requestedAddressFamily) ?? Self.familyV4) else {
            return refuse(message, TURNErrorCode.addressFamilyNotSupported, key, connection)
        }
        let own = allocations.values.count { $0.username.map(Self.user) == Self.user(username) }
        let ofAddress = allocations[connection].flatMap { uses[TURNAddressUse.block($0.client.ip)]?.allocations } ?? 0
        guard own < configuration.maximumAllocationsPerUser, ofAddress < configuration.maximumAllocationsPerAddress,
            allocationCount < configuration.maximumAllocations
        else { return refuse(message, TURNErrorCode.allocationQuotaReached, key, connection) }
        setUser(username, of: connection)
        allocations[connection]?.errors = 0
        allocations[connection]?.pending = TURNAllocation.Pending(
            transactionID: message.transactionID, key: key,
            lifetime: Self.lifetime(message.number32(TURNAttributeType.lifetime)))
        put(.open(connection))
    }

    private static let udp: UInt8 = 17
    private static let familyV4: UInt8 = 1
    private static let familyV6: UInt8 = 2

    /// Returns whether allocations of an address family are possible, which is that of the first peer.
    private func offers(family: UInt8) -> Bool {
        guard let first = configuration.peers.first else { return false }
        return family == (first.ip.family == .v4 ? Self.familyV4 : Self.familyV6)
    }

    /// Returns the user in a username, i.e. the part after the expiration.
    private static func user(_ username: String) -> Substring {
        username.firstIndex(of: ":").map { username[username.index(after: $0)...] } ?? username[...]
    }

    /// Returns the lifetime of an allocation: ten minutes, or what was requested up to an hour (RFC 8656, section 7.2).
    private static func lifetime(_ asked: UInt32?) -> TimeSpan {
        .seconds(Int64(min(max(asked ?? 600, 600), 3_600)))
    }

    /// Processes a Refresh request; a lifetime of zero deletes the allocation (RFC 8656, section 8).
    private mutating func refresh(
        _ message: TURNMessage, _ key: TURNKey, _ connection: Connection, at now: Instant
    ) {
        let asked = message.number32(TURNAttributeType.lifetime)
        let lifetime = asked == 0 ? TimeSpan.zero : Self.lifetime(asked)
        allocations[connection]?.expiry = now + lifetime
        nextExpiry = Instant.earlier(nextExpiry, now + lifetime)
        succeed(message, key, connection) { writer in
            writer.add(TURNAttributeType.lifetime, number: UInt32(lifetime.nanoseconds / 1_000_000_000))
        }
        if lifetime == .zero { close(connection) }
    }

    /// Processes a CreatePermission request (RFC 8656, section 10.2).
    private mutating func permit(_ message: TURNMessage, _ key: TURNKey, _ connection: Connection, at now: Instant) {
        guard let addresses = message.addresses(TURNAttributeType.xorPeerAddress), !addresses.isEmpty else {
            return refuse(message, TURNErrorCode.badRequest, key, connection)
        }
        for address in addresses {
            guard configuration.peers.contains(where: { $0.ip == address.ip }) else {
                return refuse(message, TURNErrorCode.forbidden, key, connection)
            }
        }
        for address in addresses { allocations[connection]?.permit(address.ip, at: now) }
        succeed(message, key, connection)
    }

    /// Processes a ChannelBind request (RFC 8656, section 12.2).
    private mutating func bind(_ message: TURNMessage, _ key: TURNKey, _ connection: Connection, at now: Instant) {
        guard let channel = message.channelNumber, (0x4000...0x4FFF).contains(channel),
            let peer = message.addresses(TURNAttributeType.xorPeerAddress)?.first
        else { return refuse(message, TURNErrorCode.badRequest, key, connection) }
        guard configuration.peers.contains(peer) else {
            return refuse(message, TURNErrorCode.forbidden, key, connection)
        }
        switch allocations[connection]?.bind(channel, to: peer, at: now) ?? nil {
        case true?: succeed(message, key, connection)
        case false?: refuse(message, TURNErrorCode.insufficientCapacity, key, connection)
        case nil: refuse(message, TURNErrorCode.badRequest, key, connection)
        }
    }

    /// Processes a Send indication. It gets no response, and is dropped if it is not allowed (RFC 8656, section 11.2).
    private mutating func send(_ message: TURNMessage, _ connection: Connection, at now: Instant) {
        guard let allocation = allocations[connection], allocation.relayed != nil,
            let peer = message.addresses(TURNAttributeType.xorPeerAddress)?.first,
            let bytes = message.value(TURNAttributeType.data), bytes.count <= Self.maximumDatagramSize,
            configuration.peers.contains(peer), allocation.isPermitted(peer.ip, at: now)
        else {
            refusals += 1
            return
        }
        put(.relay(Array(bytes), to: peer, connection))
    }
}
