import PCastCore
import PCastSFU
import PCastTestSupport
import PCastWebRTC
import Testing

/// An SFU, its peers and the links between them on a virtual clock.
///
/// A seed determines the links. The machines are used by their contract, with real DTLS and SRTP.
final class VirtualNetwork {
    /// The conditions of the link between one peer and the SFU.
    struct Link {
        /// The direction from the peer to the SFU.
        var up = LinkConditions(delay: .milliseconds(10))
        /// The direction from the SFU to the peer.
        var down = LinkConditions(delay: .milliseconds(10))
        var carriesUDP = true
        /// The peer's addresses from and to which no datagram arrives.
        var dead: Set<TransportAddress> = []

        /// Creates a link with equal conditions in both directions. Loss and duplication are in percent.
        init(
            loss: Int = 0, duplication: Int = 0, delay: TimeSpan = .milliseconds(10), jitter: TimeSpan = .zero
        ) {
            self.loss = loss
            self.duplication = duplication
            self.delay = delay
            self.jitter = jitter
        }

        /// The loss in percent. This property and the following ones apply to both directions.
        var loss: Int {
            get { Int((up.loss.share * 100).rounded()) }
            set { both { $0.loss = newValue == 0 ? .none : .random(Double(newValue) / 100) } }
        }
        var duplication: Int {
            get { Int((up.duplication * 100).rounded()) }
            set { both { $0.duplication = Double(newValue) / 100 } }
        }
        var delay: TimeSpan {
            get { up.delay }
            set { both { $0.delay = newValue } }
        }
        /// The maximum random delay, by which datagrams may be reordered.
        var jitter: TimeSpan {
            get { up.jitter }
            set { both { $0.jitter = newValue } }
        }

        mutating func both(_ change: (inout LinkConditions) -> Void) {
            change(&up)
            change(&down)
        }
    }

    static let relayAddress = TransportAddress("192.0.2.10:8189")!
    static let start = Instant(nanoseconds: 1_000_000_000_000)
    static let clock = WallClockReference(
        instant: start, wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000))
    static let certificate: DTLSCertificate = {
        guard let certificate = try? DTLSCertificate.generate(at: clock.wallTime) else { fatalError("no certificate") }
        return certificate
    }()

    var sfu: SFU
    /// The second shard, if there are two. Datagrams from every other address arrive there.
    var peerShard: SFU?
    private(set) var now = VirtualNetwork.start
    private(set) var events: [SFUEvent] = []
    private var eventTimes: [Instant] = []
    /// The number of times that a deadline did not move on after it was served.
    private(set) var spins = 0
    /// The number of deadlines of the SFU that passed.
    var wakes = 0
    private(set) var peers: [any NetworkPeer] = []
    /// The link of peers that are added from now on.
    var link = Link()
    /// The time between the arrival of a datagram and its processing, as the SFU is notified.
    var readingDelay = TimeSpan.zero
    /// Receives each datagram that the SFU sends, before it may be lost.
    var onSending: (([UInt8], NetworkPath) -> Void)?
    /// Receives each message batch from the first shard to the second.
    var onMessages: ((ShardMessageBatch) -> Void)?
    /// Receives each datagram that a peer sends, with the path as the peer sees it.
    var onPeerSending: (([UInt8], any NetworkPeer, NetworkPath) -> Void)?

    var generator: SeededGenerator
    private let seed: UInt64
    private var wires: [Wire] = []
    private var wireOfPeer: [ObjectIdentifier: Wire] = [:]
    private var translations: [ObjectIdentifier: AddressTranslation] = [:]
    private var batch: DatagramBatch
    private var nextAddress: UInt16 = 1
    private var nextConnection: UInt32 = 1

    init(
        seed: UInt64 = 1, batchCapacity: Int = 512, offersTCP: Bool = false, maximumPeers: Int = 100,
        setupTimeout: TimeSpan = .seconds(30), shards: Int = 1
    ) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        batch = DatagramBatch(datagramCapacity: batchCapacity)
        var configuration = SFUConfiguration(
            certificate: Self.certificate, advertised: [Self.relayAddress], offersTCP: offersTCP,
            clock: Self.clock, maximumPeers: maximumPeers, setupTimeout: setupTimeout, shard: Shard(0, of: shards))
        sfu = SFU(configuration: configuration, generator: SeededGenerator(seed: seed &+ 1000))
        if shards > 1 {
            configuration.shard = Shard(1, of: shards)
            peerShard = SFU(configuration: configuration, generator: SeededGenerator(seed: seed &+ 2000))
        }
    }

    func newAddress() -> TransportAddress {
        nextAddress += 1
        return TransportAddress("10.0.\(nextAddress / 200).\(nextAddress % 200 + 1):5000")!
    }

    func add(_ peer: some NetworkPeer) {
        peers.append(peer)
        let wire = Wire(of: peer, seed: seed &+ UInt64(peers.count) << 32, at: now)
        wires.append(wire)
        wireOfPeer[ObjectIdentifier(peer)] = wire
        deliverAll(peer)
        settleRelay()
    }

    /// Removes a peer without closing its connection, as if its machine had been switched off.
    func remove(_ peer: some NetworkPeer) { peers.removeAll { $0 === peer } }

    /// Lets peers share one link, which is that of the first peer with its queues.
    func share(_ sharing: [any NetworkPeer]) {
        guard let first = sharing.first, let wire = wireOfPeer[ObjectIdentifier(first)] else { return }
        for peer in sharing.dropFirst() { wireOfPeer[ObjectIdentifier(peer)] = wire }
    }

    /// Returns the statistics of a peer's link; nil for an unknown peer.
    func linkStatistics(of peer: any NetworkPeer) -> (up: LinkStatistics, down: LinkStatistics)? {
        wireOfPeer[ObjectIdentifier(peer)].map { ($0.up.statistics, $0.down.statistics) }
    }

    /// Returns the longest time that a datagram waited in the queues of a peer's link since the last call.
    func takeLongestWait(of peer: any NetworkPeer) -> (up: TimeSpan, down: TimeSpan) {
        guard let wire = wireOfPeer[ObjectIdentifier(peer)] else { return (.zero, .zero) }
        return (wire.up.takeLongestWait(), wire.down.takeLongestWait())
    }

    /// Puts a NAT in front of a peer, or lets the existing NAT lose its bindings.
    func rebind(_ peer: any NetworkPeer) {
        let id = ObjectIdentifier(peer)
        nextAddress += 1
        let outside = IPAddress(v4: 0xCB00_0000 + UInt32(nextAddress))
        if translations[id]?.rebind() == nil { translations[id] = AddressTranslation(outside: outside) }
    }

    /// Returns the time at which the SFU first reported an event; nil if it did not.
    func time(of event: SFUEvent) -> Instant? { events.firstIndex(of: event).map { eventTimes[$0] } }

    // MARK: Time

    func run(for span: TimeSpan) { run(until: now + span) }

    /// Runs until a condition is true, and returns whether that happened within the time.
    func run(within span: TimeSpan = .seconds(5), until condition: () -> Bool) -> Bool {
        let end = now + span
        while !condition() {
            guard now < end else { return false }
            run(until: min(end, now + .milliseconds(1)))
        }
        return true
    }

    private func run(until end: Instant) {
        for wire in wires { wire.refresh() }
        var stalled = 0
        while true {
            var next = Instant.earlier(sfu.deadline, peerShard?.deadline)
            for wire in wires { next = Instant.earlier(next, wire.deadline) }
            for peer in peers { next = Instant.earlier(next, peer.deadline) }
            guard let next, next <= end else { break }
            stalled = next > now ? 0 : stalled + 1
            guard stalled < 20_000 else {
                Issue.record("a deadline does not advance")
                break
            }
            now = max(now, next)
            deliver()
            advance()
        }
        now = end
    }

    private func advance() {
        if let deadline = sfu.deadline, deadline <= now { wakes += 1 }
        if let earliestDeadline = sfu.earliestDeadline, earliestDeadline <= now {
            sfu.advance(to: now)
            settleRelay()
            if let next = sfu.earliestDeadline, next <= now { spins += 1 }
        }
        if let earliestDeadline = peerShard?.earliestDeadline, earliestDeadline <= now {
            peerShard?.advance(to: now)
            settleRelay()
        }
        for peer in peers {
            guard let deadline = peer.deadline, deadline <= now else { continue }
            peer.advance(to: now)
            deliverAll(peer)
            // Frames that were taken may have caused requests.
            deliverAll(peer)
            if let next = peer.deadline, next <= now { spins += 1 }
        }
    }

    private func deliver() {
        for wire in wires {
            guard let deadline = wire.deadline, deadline <= now else { continue }
            while let flight = wire.up.receive(at: now) {
                receive(flight.bytes, from: flight.path)
                settleRelay()
            }
            while let flight = wire.down.receive(at: now) { completeSeek(flight) }
        }
    }

    private func receive(_ bytes: [UInt8], from path: NetworkPath) {
        let landsBeside = peerShard != nil && path.transport == .udp && Self.isOdd(path.remote)
        withCopy(of: bytes) {
            if landsBeside {
                peerShard?.handle($0, from: path, waited: readingDelay, at: now)
            } else {
                sfu.handle($0, from: path, waited: readingDelay, at: now)
            }
        }
    }

    private static func isOdd(_ address: TransportAddress) -> Bool {
        ((address.ip.v4 ?? 0) ^ UInt32(address.port)) & 1 == 1
    }

    private func completeSeek(_ flight: Wire.Flight) {
        let peer = flight.peer
        guard peers.contains(where: { $0 === peer }) else { return }
        var path = flight.path
        if path.transport == .udp, let translation = translations[ObjectIdentifier(peer)] {
            guard let inner = translation.inner(of: path.local) else { return }
            path.local = inner
        }
        withCopy(of: flight.bytes) { peer.handle($0, from: path, at: now) }
        deliverAll(peer)
    }

    private func withCopy(of bytes: [UInt8], _ body: (MutableByteView) -> Void) {
        var copy = bytes
        copy.withMutableByteView(body)
    }

    /// Delivers a datagram to the SFU that no peer sent.
    func inject(_ bytes: [UInt8], from path: NetworkPath) {
        receive(bytes, from: path)
        settleRelay()
    }

    // MARK: Machines

    func deliverAll(_ peer: any NetworkPeer) {
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

    /// Delivers datagrams without polling the SFU, as a driver does that reads many.
    func injectUnpolled(_ datagrams: [[UInt8]], from peer: any NetworkPeer) {
        injectUnpolled(datagrams, from: peer.addresses[0])
    }

    func injectUnpolled(_ datagrams: [[UInt8]], from address: TransportAddress) {
        let path = NetworkPath(local: Self.relayAddress, remote: address)
        for bytes in datagrams { withCopy(of: bytes) { sfu.handle($0, from: path, at: now) } }
    }

    /// Delivers datagrams to the second shard without polling it.
    func injectUnpolledIntoPeerShard(_ datagrams: [[UInt8]], from address: TransportAddress) {
        let path = NetworkPath(local: Self.relayAddress, remote: address)
        for bytes in datagrams { withCopy(of: bytes) { peerShard?.handle($0, from: path, waited: .zero, at: now) } }
    }

    func settleRelay() {
        repeat {
            send(of: { sfu.poll(into: &batch, at: now) })
            send(of: { peerShard?.poll(into: &batch, at: now) ?? false })
        } while exchangeMessages()
        while let event = sfu.pollEvent() ?? peerShard?.pollEvent() {
            events.append(event)
            eventTimes.append(now)
            if case .closeConnection(let path) = event { peerPathClosed(path) }
        }
    }

    /// Exchanges the message batches of both shards. Returns true if there were any.
    private func exchangeMessages() -> Bool {
        var wereAny = false
        while let (_, batch) = sfu.pollMessages() {
            onMessages?(batch)
            peerShard?.take(batch, from: 0, at: now)
            sfu.takeBack(batch)
            wereAny = true
        }
        while let (_, batch) = peerShard?.pollMessages() {
            sfu.take(batch, from: 1, at: now)
            peerShard?.takeBack(batch)
            wereAny = true
        }
        return wereAny
    }

    private func send(of poll: () -> Bool) {
        var isFull = true
        while isFull {
            isFull = poll()
            for index in 0..<batch.count {
                let entry = batch[index]
                let bytes = Array(batch.bytes(of: entry))
                onSending?(bytes, entry.path)
                guard let peer = owner(of: entry.path.remote) else { continue }
                fly(bytes, isUp: false, peer, Self.reversed(entry.path))
            }
            batch.removeAll()
        }
    }

    private func send(_ bytes: [UInt8], from peer: any NetworkPeer, path: NetworkPath) {
        guard path.remote == Self.relayAddress else { return }
        onPeerSending?(bytes, peer, path)
        var path = Self.reversed(path)
        if path.transport == .udp, !peer.link.dead.contains(path.remote) {
            path.remote = translations[ObjectIdentifier(peer)]?.translate(path.remote) ?? path.remote
        }
        fly(bytes, isUp: true, peer, path)
    }

    private static func reversed(_ path: NetworkPath) -> NetworkPath {
        NetworkPath(transport: path.transport, local: path.remote, remote: path.local)
    }

    /// Returns the peer that has an address outside of its NAT.
    func owner(of address: TransportAddress) -> (any NetworkPeer)? {
        peers.last { peer in
            peer.addresses.contains(address) || translations[ObjectIdentifier(peer)]?.inner(of: address) != nil
        }
    }

    // MARK: Datagrams

    /// Sends a datagram on a peer's link. The path is the one that the receiver sees.
    private func fly(_ bytes: [UInt8], isUp: Bool, _ peer: any NetworkPeer, _ path: NetworkPath) {
        let isDatagram = path.transport == .udp
        let address = isUp ? path.remote : path.local
        if isDatagram, !peer.link.carriesUDP || peer.link.dead.contains(address) { return }
        wireOfPeer[ObjectIdentifier(peer)]?.send(
            Wire.Flight(peer: peer, path: path, bytes: bytes), isUp: isUp, isReliable: !isDatagram, at: now)
    }

    // MARK: Connections

    private func open(_ address: TransportAddress, for peer: any NetworkPeer) {
        let path = NetworkPath(transport: .tcp(connection: nextConnection), local: peer.addresses[0], remote: address)
        nextConnection += 1
        peer.pathOpened(path, at: now)
        deliverAll(peer)
    }

    /// Reports to both ends that a connection is lost.
    func breakConnection(_ path: NetworkPath) {
        sfu.pathClosed(path, at: now)
        settleRelay()
        peerPathClosed(path)
    }

    private func peerPathClosed(_ path: NetworkPath) {
        guard let peer = peers.last(where: { $0.addresses.contains(path.remote) }) else { return }
        peer.pathClosed(Self.reversed(path), at: now)
        deliverAll(peer)
    }
}
