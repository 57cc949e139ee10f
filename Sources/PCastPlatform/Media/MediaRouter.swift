import PCastIO
import PCastMedia
import PCastRTP
import PCastRelay
import PCastWebRTC
import Synchronization

/// The relay on its own threads, as the control plane sees it: calls go in, events come out, packets never pass here.
final class MediaRouter: Sendable {
    /// One for each shard of the relay.
    private let loops: [EventLoop<Relay>]
    private let places: Mutex<RelayPlaces>

    /// What the relay tells, until it is stopped; to be read by one reader.
    let events: AsyncStream<RelayEvent>
    private let told: AsyncStream<RelayEvent>.Continuation

    /// The addresses that answers name, as far as they are reachable from a network or over loopback.
    let advertised: [TransportAddress]
    private let addresses: AdvertisedAddresses
    private let current: Mutex<[TransportAddress]>
    /// Yields when an interface or an address of this machine came, changed or went.
    private let interfaceChanges: AsyncStream<Void>

    /// - Parameters:
    ///   - maximumPeers: of all shards together.
    ///   - shards: threads among which peers are shared out, at most `Shard.maximumCount`.
    /// - Throws: `IOError` when the port cannot be opened.
    init(
        listen: [TransportAddress], addresses: AdvertisedAddresses, certificate: DTLSCertificate, maximumPeers: Int,
        shards: Int
    ) throws(IOError) {
        let (events, told) = AsyncStream<RelayEvent>.makeStream()
        self.events = events
        self.told = told
        let (interfaceChanges, changed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.interfaceChanges = interfaceChanges
        var configuration = RelayConfiguration(
            certificate: certificate, advertised: [], offersTCP: true, clock: MonotonicClock.reference(),
            maximumPeers: maximumPeers)
        let exchange = ShardExchange(count: shards)
        let first = try EventLoop(
            name: "pcast-relay", listen: listen, localOnly: addresses.localOnly, tcpListen: true, loops: shards,
            patient: PatientDatagrams(DatagramPattern.reports),
            makeMachine: { _ in
                configuration.shard = Shard(0, of: shards)
                return Relay(configuration: configuration, generator: SystemRandomNumberGenerator())
            }, beforeSending: Self.beforeSending(of: 0, exchange), afterTurn: Self.afterTurn(of: 0, exchange, told),
            onAddressChange: { _, _, _ in changed.yield() },
            onNeighbour: { connection, shard in exchange.handOver(connection, to: shard) },
            isPeer: { relay, path in relay.isPeer(path) })
        var loops = [first]
        for number in 1..<max(shards, 1) {
            configuration.shard = Shard(number, of: shards)
            let loop = try EventLoop(
                name: "pcast-relay-\(number)", beside: first,
                makeMachine: { _ in
                    Relay(configuration: configuration, generator: SystemRandomNumberGenerator())
                }, beforeSending: Self.beforeSending(of: number, exchange),
                afterTurn: Self.afterTurn(of: number, exchange, told), isPeer: { relay, path in relay.isPeer(path) })
            loops.append(loop)
        }
        exchange.open(to: loops)
        self.loops = loops
        self.addresses = addresses
        advertised = addresses.addresses(
            port: first.boundAddresses.first?.port ?? 0, interfaces: (try? LocalAddress.all()) ?? [],
            families: Self.families(first.boundAddresses))
        current = Mutex([])
        places = Mutex(RelayPlaces(shards: shards, maximumPeers: maximumPeers))
        advertise()
    }

    /// Has answers from now on name the addresses that this machine has now.
    ///
    /// - Returns: the addresses; nil when they are the same as before.
    @discardableResult
    private func advertise() -> [TransportAddress]? {
        let named = addresses.addresses(
            port: rtcPort, interfaces: (try? LocalAddress.all()) ?? [],
            families: Self.families(loops[0].boundAddresses + loops[0].localOnlyAddresses))
        let isNew = current.withLock { current in
            defer { current = named }
            return current != named
        }
        guard isNew else { return nil }
        for loop in loops { try? loop.submit { relay, _ in relay.advertise(named) } }
        return named
    }

    /// The families that are listened to at every address.
    private static func families(_ bound: [TransportAddress]) -> [IPAddress.Family] {
        bound.filter(\.ip.isUnspecified).map(\.ip.family)
    }

    /// Has answers name the addresses that interfaces get later, and no more those that they lose, until the task is
    /// cancelled.
    ///
    /// - Parameter report: called with the addresses when they have changed.
    func followInterfaces(_ report: @Sendable ([TransportAddress]) -> Void) async {
        for await _ in interfaceChanges {
            if let named = advertise() { report(named) }
        }
    }

    /// Why programs of this machine do not reach media at its interfaces' addresses, a sentence each.
    var localOnlyWarnings: [String] { loops[0].localOnlyWarnings }

    /// The others shall not wait until all that a shard has for its own viewers is sent.
    private static func beforeSending(
        of shard: Int, _ exchange: ShardExchange
    ) -> @Sendable (inout Relay, Instant) -> Void {
        { relay, now in exchange.exchange(&relay, shard: shard, at: now) }
    }

    private static func afterTurn(
        of shard: Int, _ exchange: ShardExchange, _ told: AsyncStream<RelayEvent>.Continuation
    ) -> @Sendable (inout Relay, Instant) -> Void {
        { relay, now in
            exchange.bring(&relay, from: shard)
            while let event = relay.pollEvent() {
                // Connections have numbers of their own at each loop.
                if case .closeConnection(let path) = event {
                    exchange.close(path, at: shard)
                } else {
                    told.yield(event)
                }
            }
        }
    }

    var rtcPort: UInt16 { loops[0].boundAddresses.first?.port ?? 0 }

    /// - Parameter offer: nil has the relay make the offer, to be answered by `accept`.
    /// - Returns: the answer, or the relay's offer.
    func publish(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription?, terms: PeerTerms
    ) async throws(RelayError) -> SessionDescription {
        let shard = try place(peer) { places throws(RelayError) in try places.enter(peer, publishing: stream) }
        let description = try await admit(peer, at: shard) { relay, now throws(RelayError) in
            guard let offer else { return try relay.offerToPublisher(peer, of: stream, terms: terms, at: now) }
            return try relay.publish(peer, stream: stream, offer: offer, terms: terms, at: now)
        }
        places.withLock { $0.noteStream(of: peer) }
        return description
    }

    /// Adds where programs of this machine reach us, which may not reach what we advertise.
    func addOwnCandidates(to answer: inout SessionDescription) {
        for bound in loops[0].boundAddresses {
            let loopback: IPAddress = bound.ip.family == .v4 ? .loopbackV4 : IPAddress(v6: 0, 1)
            let own = TransportAddress(ip: bound.ip.isUnspecified ? loopback : bound.ip, port: bound.port)
            let candidate = ICECandidate.host(own, transport: .udp).description
            for index in answer.media.indices where !answer.media[index].candidates.contains(candidate) {
                answer.media[index].candidates.append(candidate)
            }
        }
    }

    /// - Parameter offer: as for `publish`.
    func view(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription?, terms: PeerTerms
    ) async throws(RelayError) -> SessionDescription {
        let (shard, home) = try place(peer) { places throws(RelayError) in try places.enter(peer, viewing: stream) }
        if shard != home {
            do throws(RelayError) {
                try await replicate(stream, from: home, to: shard)
            } catch {
                forget(peer)
                throw error
            }
        }
        return try await admit(peer, at: shard) { relay, now throws(RelayError) in
            guard let offer else { return try relay.offerToViewer(peer, of: stream, terms: terms, at: now) }
            return try relay.view(peer, stream: stream, offer: offer, terms: terms, at: now)
        }
    }

    /// Has another shard than its home have a stream, if it does not. Shards say no more of a replica to each other than
    /// parcels can, so the home is asked again afterwards: a stream that ended meanwhile could not tell its replica.
    private func replicate(_ stream: StreamID, from home: Int, to shard: Int) async throws(RelayError) {
        let blueprint = try await ask(loops[home]) { relay, now throws(RelayError) in
            try relay.replicate(stream, to: shard, at: now)
        }
        try await ask(loops[shard]) { relay, now in relay.enterReplica(blueprint, of: home, at: now) }
        guard try await ask(loops[home], { relay, _ in relay.goesOn(blueprint) }) else {
            try await ask(loops[shard]) { relay, now in relay.endReplica(blueprint, reason: .ended, at: now) }
            throw .unknownStream(stream)
        }
    }

    /// Lets in who answers an offer of the relay's.
    func accept(_ answer: SessionDescription, from peer: PeerID) async throws(RelayError) -> NegotiatedSession {
        try await ask(at: peer) { relay, now throws(RelayError) in try relay.accept(answer, from: peer, at: now) }
    }

    func restart(_ peer: PeerID, remote: ICECredentials) async throws(RelayError) -> TrickleFragment {
        try await ask(at: peer) { relay, now throws(RelayError) in try relay.restart(peer, remote: remote, at: now) }
    }

    /// What a viewer is sent of its stream's layers; nil when it is gone, or has no video.
    func layers(viewedBy peer: PeerID) async -> ViewedLayers? {
        (try? await loop(of: peer)?.call { relay, _ in relay.layers(viewedBy: peer) }) ?? nil
    }

    /// Has a viewer sent that layer and no better one; nil leaves the choice to the relay.
    func pin(_ peer: PeerID, layer: String?) async throws(RelayError) {
        try await ask(at: peer) { relay, now throws(RelayError) in try relay.pin(peer, layer: layer, at: now) }
    }

    /// Has a publisher send no more than that; see `Relay.limit`.
    func limit(_ peer: PeerID, to bitrate: Bitrate?) {
        try? loop(of: peer)?.submit { relay, _ in relay.limit(peer, to: bitrate) }
    }

    private func loop(of peer: PeerID) -> EventLoop<Relay>? {
        places.withLock { $0.shard(of: peer) }.map { loops[$0] }
    }

    private func place<Place: Sendable>(
        _ peer: PeerID, by choice: (inout RelayPlaces) throws(RelayError) -> Place
    ) throws(RelayError) -> Place {
        // Mutex passes on errors of any type, hence the result.
        let result: Result<Place, RelayError> = places.withLock { places in
            do throws(RelayError) {
                return .success(try choice(&places))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Asks for a peer to be let in at its place, which it leaves again where it is not.
    private func admit<Answer: Sendable>(
        _ peer: PeerID, at shard: Int,
        by question: @escaping @Sendable (inout Relay, Instant) throws(RelayError) -> Answer
    ) async throws(RelayError) -> Answer {
        do throws(RelayError) {
            return try await ask(loops[shard], question)
        } catch {
            forget(peer)
            throw error
        }
    }

    private func ask<Answer: Sendable>(
        at peer: PeerID, _ question: @escaping @Sendable (inout Relay, Instant) throws(RelayError) -> Answer
    ) async throws(RelayError) -> Answer {
        guard let loop = loop(of: peer) else { throw .unknownPeer }
        return try await ask(loop, question)
    }

    /// A relay that does not keep up with what it is asked, or is stopping, is full.
    private func ask<Answer: Sendable>(
        _ loop: EventLoop<Relay>,
        _ question: @escaping @Sendable (inout Relay, Instant) throws(RelayError) -> Answer
    ) async throws(RelayError) -> Answer {
        let result: Result<Answer, RelayError>
        do {
            result = try await loop.call { relay, now in
                do throws(RelayError) {
                    return .success(try question(&relay, now))
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .full
        }
        return try result.get()
    }

    func end(_ peer: PeerID, reason: StreamEndedReason) async {
        _ = try? await loop(of: peer)?.call { relay, now in relay.end(peer, reason: reason, at: now) }
    }

    /// A peer that the relay has told the end of.
    func forget(_ peer: PeerID) { places.withLock { $0.leave(peer) } }

    func statistics(of peer: PeerID) async -> PeerStatistics? {
        (try? await loop(of: peer)?.call { relay, _ in relay.statistics(of: peer) }) ?? nil
    }

    /// Packets sent to viewers since the beginning.
    func packetsForwarded() async -> Int { await askAll { relay in relay.packetsForwarded }.reduce(0, +) }

    /// Peers of each shard.
    var peersOfShards: [Int] { places.withLock { $0.loads } }

    /// What shards could not hand over to each other since the beginning.
    func parcelsLost() async -> Int { await askAll { relay in relay.parcelsLost }.reduce(0, +) }

    /// What was counted of each stream.
    func figures() async -> [StreamFigures] {
        StreamFigures.merged(await askAll { relay in relay.figures }.flatMap { $0 })
    }

    /// The same without what is known of each viewer.
    func samples() async -> [StreamFigures] {
        StreamFigures.merged(await askAll { relay in relay.figures(ofViewers: false) }.flatMap { $0 })
    }

    private func askAll<Answer: Sendable>(
        _ question: @escaping @Sendable (borrowing Relay) -> Answer
    ) async -> [Answer] {
        var answers: [Answer] = []
        for loop in loops {
            if let answer = try? await loop.call({ relay, _ in question(relay) }) { answers.append(answer) }
        }
        return answers
    }

    deinit { stop() }

    /// Ends the relay when its last words are sent. Harmless when called again.
    func stop() {
        for loop in loops { loop.stop() }
        told.finish()
    }
}
