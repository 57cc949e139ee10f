import PCastMedia
import PCastRelay
import PCastWebRTC
import Testing

/// A relay, its peers, and what lies between them, on a clock of its own: delay, loss, reordering and repetition by a
/// seed, over the machines' own contract and with real DTLS and SRTP.
final class VirtualNetwork {
    /// What happens to datagrams between one peer and the relay, in either direction.
    struct Link {
        /// Percent.
        var loss = 0
        var duplication = 0
        var delay = TimeSpan.milliseconds(10)
        /// Added by chance, so that datagrams overtake each other.
        var jitter = TimeSpan.zero
        var carriesUDP = true
        /// No datagram from these addresses of the peer's, or to them, arrives.
        var dead: Set<TransportAddress> = []
    }

    private struct Flight {
        let arrival: Instant
        let number: Int
        /// Nil when it goes to the relay.
        let peer: (any NetworkPeer)?
        let path: NetworkPath
        let bytes: [UInt8]
    }

    static let relayAddress = TransportAddress("192.0.2.10:8189")!
    static let start = Instant(nanoseconds: 1_000_000_000_000)
    static let clock = WallClockReference(
        instant: start, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000))
    static let certificate: DTLSCertificate = {
        guard let certificate = try? DTLSCertificate.generate(at: clock.wallTime) else { fatalError("no certificate") }
        return certificate
    }()

    var relay: Relay
    private(set) var now = VirtualNetwork.start
    private(set) var events: [RelayEvent] = []
    private var eventTimes: [Instant] = []
    /// How often a deadline did not move on when it had come and what was due was sent.
    private(set) var spins = 0
    private(set) var peers: [any NetworkPeer] = []
    /// For peers that come from now on.
    var link = Link()
    /// Sees each datagram that the relay sends, before it may be lost.
    var onSending: (([UInt8], NetworkPath) -> Void)?

    var generator: SeededGenerator
    private var flights: [Flight] = []
    private var flightCount = 0
    private var batch: DatagramBatch
    private var nextAddress: UInt16 = 1
    private var nextConnection: UInt32 = 1

    init(
        seed: UInt64 = 1, batchCapacity: Int = 512, offersTCP: Bool = false, maximumPeers: Int = 100,
        setupTimeout: TimeSpan = .seconds(30)
    ) {
        generator = SeededGenerator(state: seed)
        batch = DatagramBatch(datagramCapacity: batchCapacity)
        relay = Relay(
            configuration: RelayConfiguration(
                certificate: Self.certificate, advertised: [Self.relayAddress], offersTCP: offersTCP,
                clock: Self.clock, maximumPeers: maximumPeers, setupTimeout: setupTimeout),
            generator: SeededGenerator(state: seed &+ 1000))
    }

    func newAddress() -> TransportAddress {
        nextAddress += 1
        return TransportAddress("10.0.\(nextAddress / 200).\(nextAddress % 200 + 1):5000")!
    }

    func add(_ peer: some NetworkPeer) {
        peers.append(peer)
        settle(peer)
        settleRelay()
    }

    /// As if its machine had been switched off.
    func remove(_ peer: some NetworkPeer) { peers.removeAll { $0 === peer } }

    /// When the relay told that, first.
    func time(of event: RelayEvent) -> Instant? { events.firstIndex(of: event).map { eventTimes[$0] } }

    // MARK: Time

    func run(for span: TimeSpan) { run(until: now + span) }

    /// Runs until something has come true, and says whether it has within that time.
    func run(within span: TimeSpan = .seconds(5), until condition: () -> Bool) -> Bool {
        let end = now + span
        while !condition() {
            guard now < end else { return false }
            run(until: min(end, now + .milliseconds(1)))
        }
        return true
    }

    private func run(until end: Instant) {
        var stalled = 0
        while true {
            var next = Instant.earlier(flights.first?.arrival, relay.deadline)
            for peer in peers { next = Instant.earlier(next, peer.deadline) }
            guard let next, next <= end else { break }
            stalled = next > now ? 0 : stalled + 1
            guard stalled < 20_000 else {
                Issue.record("a deadline does not move on")
                break
            }
            now = max(now, next)
            deliver()
            advance()
        }
        now = end
    }

    private func advance() {
        if let deadline = relay.deadline, deadline <= now {
            relay.advance(to: now)
            settleRelay()
            if let next = relay.deadline, next <= now { spins += 1 }
        }
        for peer in peers {
            guard let deadline = peer.deadline, deadline <= now else { continue }
            peer.advance(to: now)
            settle(peer)
            // Frames that were taken out may have brought forth requests.
            settle(peer)
            if let next = peer.deadline, next <= now { spins += 1 }
        }
    }

    private func deliver() {
        while let flight = flights.first, flight.arrival <= now {
            pop()
            if let peer = flight.peer {
                guard peers.contains(where: { $0 === peer }) else { continue }
                withCopy(of: flight.bytes) { peer.handle($0, from: flight.path, at: now) }
                settle(peer)
            } else {
                withCopy(of: flight.bytes) { relay.handle($0, from: flight.path, at: now) }
                settleRelay()
            }
        }
    }

    private func withCopy(of bytes: [UInt8], _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        var copy = bytes
        copy.withUnsafeMutableBytes(body)
    }

    /// A datagram out of nowhere.
    func inject(_ bytes: [UInt8], from path: NetworkPath) {
        withCopy(of: bytes) { relay.handle($0, from: path, at: now) }
        settleRelay()
    }

    // MARK: Machines

    func settle(_ peer: any NetworkPeer) {
        var isFull = true
        while isFull {
            isFull = peer.poll(into: &batch, at: now)
            for index in 0..<batch.count {
                let entry = batch[index]
                send(Array(batch.bytes(of: entry)), from: peer, path: entry.path)
            }
            batch.removeAll()
        }
        peer.collect(at: now)
        while let address = peer.takeConnectionToOpen() { open(address, for: peer) }
    }

    /// Without polling it, as a driver that has many to read.
    func injectUnpolled(_ datagrams: [[UInt8]], from peer: any NetworkPeer) {
        let path = NetworkPath(local: Self.relayAddress, remote: peer.addresses[0])
        for bytes in datagrams { withCopy(of: bytes) { relay.handle($0, from: path, at: now) } }
    }

    func settleRelay() {
        var isFull = true
        while isFull {
            isFull = relay.poll(into: &batch, at: now)
            for index in 0..<batch.count {
                let entry = batch[index]
                let bytes = Array(batch.bytes(of: entry))
                onSending?(bytes, entry.path)
                guard let peer = peers.last(where: { $0.addresses.contains(entry.path.remote) }) else { continue }
                let path = Self.reversed(entry.path)
                fly(bytes, to: peer, path: path, link: peer.link, address: path.local)
            }
            batch.removeAll()
        }
        while let event = relay.pollEvent() {
            events.append(event)
            eventTimes.append(now)
            if case .closeConnection(let path) = event { peerPathClosed(path) }
        }
    }

    private func send(_ bytes: [UInt8], from peer: any NetworkPeer, path: NetworkPath) {
        guard path.remote == Self.relayAddress else { return }
        fly(bytes, to: nil, path: Self.reversed(path), link: peer.link, address: path.local)
    }

    private static func reversed(_ path: NetworkPath) -> NetworkPath {
        NetworkPath(transport: path.transport, local: path.remote, remote: path.local)
    }

    // MARK: Datagrams

    private func fly(
        _ bytes: [UInt8], to peer: (any NetworkPeer)?, path: NetworkPath, link: Link, address: TransportAddress
    ) {
        let isDatagram = path.transport == .udp
        if isDatagram, !link.carriesUDP || link.dead.contains(address) || chance(link.loss) { return }
        for _ in 0..<(isDatagram && chance(link.duplication) ? 2 : 1) {
            var delay = link.delay
            if isDatagram, link.jitter > .zero {
                delay = delay + TimeSpan(nanoseconds: Int64.random(in: 0...link.jitter.nanoseconds, using: &generator))
            }
            flightCount += 1
            push(Flight(arrival: now + delay, number: flightCount, peer: peer, path: path, bytes: bytes))
        }
    }

    private func chance(_ percent: Int) -> Bool { percent > 0 && Int.random(in: 0..<100, using: &generator) < percent }

    /// Kept in the order of their arrival.
    private func push(_ flight: Flight) {
        var index = flights.count
        while index > 0, flights[index - 1].arrival > flight.arrival { index -= 1 }
        flights.insert(flight, at: index)
    }

    private func pop() { flights.removeFirst() }

    // MARK: Connections

    private func open(_ address: TransportAddress, for peer: any NetworkPeer) {
        let path = NetworkPath(transport: .tcp(connection: nextConnection), local: peer.addresses[0], remote: address)
        nextConnection += 1
        peer.pathOpened(path, at: now)
        settle(peer)
    }

    /// Both ends learn that a connection is gone.
    func breakConnection(_ path: NetworkPath) {
        relay.pathClosed(path, at: now)
        settleRelay()
        peerPathClosed(path)
    }

    private func peerPathClosed(_ path: NetworkPath) {
        guard let peer = peers.last(where: { $0.addresses.contains(path.remote) }) else { return }
        peer.pathClosed(Self.reversed(path), at: now)
        settle(peer)
    }
}
