import PCastMedia

extension TURNServer {
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

    private mutating func answerBinding(_ message: TURNMessage, _ connection: Connection) {
        guard let client = allocations[connection]?.client else { return }
        var writer = TURNMessageWriter(.binding, .success, message.transactionID)
        writer.add(STUNAttributeType.xorMappedAddress, address: client)
        put(.send(writer.finish(nil), connection))
    }

    // MARK: Who asks

    /// RFC 8489, section 9.2.4. Nil when the answer is given already.
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

    /// The algorithm that the client chose of ours; without a choice the old one. Nil where it was told of others than
    /// ours, as somebody between would who wants the weaker (RFC 8489, section 9.2.1).
    private static func algorithm(of message: TURNMessage) -> TURNKey.Algorithm? {
        let offered = message.value(TURNAttributeType.passwordAlgorithms)
        let chosen = message.value(TURNAttributeType.passwordAlgorithm)
        guard let chosen else { return offered == nil ? .md5 : nil }
        guard offered.map(Array.init) == algorithms, chosen.count == 4 else { return nil }
        return TURNKey.Algorithm(rawValue: UInt16(chosen[chosen.startIndex + 1]))
    }

    /// SHA-256, which is better, and MD5, each without parameters.
    private static let algorithms: [UInt8] = [0, 2, 0, 0, 0, 1, 0, 0]

    private func hasTime(_ username: String, at now: Instant) -> Bool {
        guard let expiry = TURNCredentials.expiry(of: username) else { return false }
        return configuration.clock.wallTime(at: now).nanosecondsSinceEpoch / 1_000_000_000 < expiry
    }

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

    private mutating func succeed(
        _ message: TURNMessage, _ key: TURNKey, _ connection: Connection,
        _ body: (inout TURNMessageWriter) -> Void = { _ in }
    ) {
        var writer = TURNMessageWriter(message.method, .success, message.transactionID)
        body(&writer)
        put(.send(writer.finish(key), connection))
        allocations[connection]?.errors = 0
    }

    // MARK: What is asked

    /// RFC 8656, section 7.2.
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
        guard own < configuration.maximumAllocationsPerUser, allocationCount < configuration.maximumAllocations else {
            return refuse(message, TURNErrorCode.allocationQuotaReached, key, connection)
        }
        allocations[connection]?.username = username
        allocations[connection]?.errors = 0
        allocations[connection]?.pending = TURNAllocation.Pending(
            transactionID: message.transactionID, key: key,
            lifetime: Self.lifetime(message.number32(TURNAttributeType.lifetime)))
        put(.open(connection))
    }

    private static let udp: UInt8 = 17
    private static let familyV4: UInt8 = 1
    private static let familyV6: UInt8 = 2

    /// The family of the first address is the one that there is.
    private func offers(family: UInt8) -> Bool {
        guard let first = configuration.peers.first else { return false }
        return family == (first.ip.family == .v4 ? Self.familyV4 : Self.familyV6)
    }

    /// What stands behind the time: names of one user differ by it.
    private static func user(_ username: String) -> Substring {
        username.firstIndex(of: ":").map { username[username.index(after: $0)...] } ?? username[...]
    }

    /// Ten minutes unless more was asked for, and an hour at most (RFC 8656, section 7.2).
    private static func lifetime(_ asked: UInt32?) -> TimeSpan {
        .seconds(Int64(min(max(asked ?? 600, 600), 3_600)))
    }

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

    /// An indication is never answered, and what is not allowed is dropped (RFC 8656, section 11.2).
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
