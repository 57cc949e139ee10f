import Foundation
import PCastCluster
import PCastCore
import PCastSFU
import PCastTestSupport
import Testing

@testable import PCastPlatform

/// Nodes that publish a name and pull it from each other, on virtual time: the directory, the links and the publishers
/// have faults by a seed.
///
/// Each node has a viewer, and at times a publication, which stands by while another node is the origin. The decisions are
/// those of ``ClusterMember`` and ``PulledStream``. The directory, the connections and the media are models.
private struct LinkSimulation {
    private typealias Origin = PCastPlatform.StreamOrigin

    private enum Message {
        case event(DirectoryEvent)
        case result(UInt64, ClusterKey, Result<UInt64?, DirectoryError>)
        case operation(ClusterMember.Output)
    }

    /// A link to the publication of a node.
    private struct Connection {
        let node: Int
        let publication: Int
        let since: Instant
        /// The time since which its origin does not exist or does not answer any more.
        var brokenSince: Instant?
        var last: Instant?
    }

    private struct Pull {
        var machine: PulledStream
        var connections: [StreamID: Connection]
        var attempt: (origin: Origin, end: Instant)?
    }

    private struct Node {
        var member: ClusterMember
        var isRunning = true
        var isConnected = false
        /// The messages of the directory, in the order of their arrival.
        var inbox: [(time: Instant, message: Message)] = []
        var outbox: [(time: Instant, message: Message)] = []
        /// The number of the publication; nil for none.
        var publication: Int?
        var isSending = true
        var pull: Pull?
        /// The publication that the viewer receives without a link.
        var watched: Int?
        /// The time of the viewer's next request.
        var nextRequest: Instant
        /// The last time at which the viewer had media, and the longest time without since the last reset.
        var lastMedia: Instant
        var longestGap = TimeSpan.zero
    }

    private static let name = "show"
    private static let step = TimeSpan.milliseconds(50)
    private static let faultTime = TimeSpan.seconds(15 as Int64)
    /// The time after the last fault until everything has converged: the lease, the retries and the return to the origin.
    private static let settlingTime = TimeSpan.seconds(20 as Int64)
    private static let checkedTime = TimeSpan.seconds(2 as Int64)
    /// The time after which a connection to a node that does not answer is given up.
    private static let consentTime = TimeSpan.seconds(5 as Int64)
    private static let responseTime = TimeSpan.seconds(2 as Int64)

    private var random: SeededGenerator
    private let seed: UInt64
    private var values = DirectoryValues()
    private var older = DirectoryValues()
    private var nodes: [Node] = []
    /// The pairs of nodes that do not reach each other.
    private var partitions: Set<[Int]> = []
    private var now = Instant(nanoseconds: 0)
    private var isFaulty = true
    private var counter = 0
    private(set) var failures: [String] = []
    /// The numbers of links that were replaced, and of those that were replaced by the publication of the same node.
    private(set) var replaced = 0
    private(set) var replacedByOwn = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        self.seed = seed
        for index in 0..<3 {
            nodes.append(
                Node(member: member(index), nextRequest: now, lastMedia: now))
        }
    }

    private mutating func number() -> Int {
        counter += 1
        return counter
    }

    private mutating func member(_ index: Int) -> ClusterMember {
        let count = UInt64(number())
        return ClusterMember(
            ClusterNode(name: "n\(index)", incarnation: count, address: "http://n\(index)", region: "r"),
            seed: seed &* 1_000 &+ count, at: local(index))
    }

    /// The clocks of the nodes have origins that differ by minutes.
    private func local(_ index: Int) -> Instant { now + .seconds(Int64(index) * 300) }

    // MARK: Run

    mutating func run() {
        for index in nodes.indices { connect(index) }
        publish(0)
        let end = now + Self.faultTime
        var count = 0
        while now < end {
            if count % 10 == 0 { act() }
            count += 1
            advance()
        }
        heal()
        advance(Self.settlingTime)
        for index in nodes.indices { beginMeasuring(index) }
        advance(Self.checkedTime)
        check("after the last fault", limit: Self.step, all: true)
        killOrigin()
    }

    /// Kills the origin. The viewers of other nodes continue with the publication that stands by.
    private mutating func killOrigin() {
        guard let origin = holder else { return }
        let watching = nodes.indices.filter { $0 != origin && nodes[$0].pull != nil }
        let next = nodes.indices.filter { $0 != origin && nodes[$0].publication != nil }
        guard !next.isEmpty else { return failures.append("there is no second publication") }
        kill(origin)
        for index in watching { beginMeasuring(index) }
        advance(.seconds(10))
        for index in watching where nodes[index].longestGap > .milliseconds(500) {
            failures.append("the viewer at \(index) had no media for \(nodes[index].longestGap)")
        }
        check("after the origin was killed", limit: nil, all: false)
    }

    private var holder: Int? { nodes.indices.first { claim(of: $0) != nil } }

    private func claim(of index: Int) -> StreamEpoch? {
        nodes[index].isRunning ? nodes[index].member.claimedEpoch(of: Self.name) : nil
    }

    private mutating func beginMeasuring(_ index: Int) {
        nodes[index].longestGap = .zero
    }

    private mutating func check(_ time: String, limit: TimeSpan?, all: Bool) {
        let holders = nodes.indices.filter { claim(of: $0) != nil }
        guard holders.count == 1, let origin = holders.first else {
            return failures.append("\(time), the nodes \(holders) hold the name")
        }
        var epochs: [StreamEpoch: Set<Int>] = [:]
        for index in nodes.indices where nodes[index].isRunning {
            if let limit, nodes[index].longestGap > limit {
                failures.append("\(time), the viewer at \(index) had no media for \(nodes[index].longestGap)")
            }
            guard let pull = nodes[index].pull,
                let connection = pull.connections[pull.machine.current.stream]
            else { continue }
            epochs[pull.machine.current.origin.publicationEpoch, default: []].insert(connection.publication)
            if connection.node != origin {
                failures.append("\(time), the viewer at \(index) receives node \(connection.node), not \(origin)")
            }
        }
        for (epoch, publications) in epochs where publications.count > 1 {
            failures.append("\(time), the publications \(publications) are forwarded with epoch \(epoch)")
        }
    }

    // MARK: Faults

    private mutating func act() {
        let index = random.next(below: nodes.count)
        switch random.next(below: 20) {
        case 0: kill(index)
        case 1, 2: if !nodes[index].isRunning { start(index) }
        case 3, 4: partitions.insert([index, (index + 1) % nodes.count].sorted())
        case 5, 6: partitions = []
        case 7...9: if nodes[index].isRunning { publish(index) }
        case 10: unpublish(index)
        case 11, 12: nodes[index].isSending.toggle()
        case 13: disconnect(index)
        case 14, 15: if nodes[index].isRunning, !nodes[index].isConnected { connect(index) }
        case 16: older = values
        case 17:
            // The server has lost all values, or writes that it acknowledged.
            values = random.happens(0.5) ? DirectoryValues() : older
            for index in nodes.indices where nodes[index].isConnected {
                disconnect(index)
                connect(index)
            }
        default: break
        }
    }

    private mutating func heal() {
        isFaulty = false
        partitions = []
        for index in nodes.indices {
            if !nodes[index].isRunning { start(index) }
            if !nodes[index].isConnected { connect(index) }
            nodes[index].isSending = true
        }
        for index in nodes.indices where nodes.count(where: { $0.publication != nil }) < 2 {
            if nodes[index].publication == nil { publish(index) }
        }
    }

    private mutating func publish(_ index: Int) {
        unpublish(index)
        let publication = number()
        nodes[index].publication = publication
        nodes[index].member.publish(
            ClusterStream(name: Self.name, stream: "s\(publication)", application: "app"), .standby)
    }

    private mutating func unpublish(_ index: Int) {
        guard let publication = nodes[index].publication else { return }
        nodes[index].publication = nil
        nodes[index].member.end(Self.name, stream: "s\(publication)")
    }

    private mutating func kill(_ index: Int) {
        guard nodes[index].isRunning else { return }
        let lastMedia = nodes[index].lastMedia
        nodes[index] = Node(member: member(index), isRunning: false, nextRequest: now, lastMedia: lastMedia)
    }

    private mutating func start(_ index: Int) {
        nodes[index].member = member(index)
        nodes[index].isRunning = true
        connect(index)
    }

    private func reaches(_ index: Int, _ other: Int) -> Bool {
        nodes[other].isRunning && !partitions.contains([index, other].sorted())
    }

    // MARK: Directory

    private mutating func connect(_ index: Int) {
        nodes[index].isConnected = true
        for event in values.snapshot { deliver(.event(event), index) }
    }

    private mutating func disconnect(_ index: Int) {
        guard nodes[index].isConnected else { return }
        nodes[index].isConnected = false
        (nodes[index].inbox, nodes[index].outbox) = ([], [])
        deliver(.event(.disconnected("test")), index)
    }

    private mutating func delay() -> TimeSpan { .milliseconds(Int64(random.next(below: 200))) }

    private mutating func deliver(_ message: Message, _ index: Int) {
        nodes[index].inbox.append((max(now + delay(), nodes[index].inbox.last?.time ?? now), message))
    }

    private mutating func advanceMember(_ index: Int) {
        while let first = nodes[index].inbox.first, first.time <= now {
            nodes[index].inbox.removeFirst()
            switch first.message {
            case .event(let event): nodes[index].member.handle(event)
            case .result(let operation, let key, let result): nodes[index].member.finish(operation, key, result)
            case .operation: break
            }
        }
        nodes[index].member.advance(to: local(index))
        for output in nodes[index].member.takeOutputs() {
            if case .event = output { continue }
            nodes[index].outbox.append((now + delay(), .operation(output)))
        }
        let due = nodes[index].outbox.filter { $0.time <= now }
        nodes[index].outbox.removeAll { $0.time <= now }
        for case (_, .operation(let output)) in due { perform(output, index) }
    }

    private mutating func perform(_ output: ClusterMember.Output, _ index: Int) {
        var change: DirectoryEvent?
        let outcome: (operation: UInt64, key: ClusterKey, result: Result<UInt64?, DirectoryError>)
        switch output {
        case .event: return
        case .write(let record, let revision, let operation):
            let result = Result { () throws(DirectoryError) -> UInt64? in
                let written = try values.write(record, replacing: revision)
                change = .changed(record, revision: written)
                return written
            }
            outcome = (operation, record.key, result)
        case .remove(let key, let revision, let operation):
            let result = Result { () throws(DirectoryError) -> UInt64? in
                if try values.remove(key, revision: revision) { change = .removed(key) }
                return nil
            }
            outcome = (operation, key, result)
        }
        if let change {
            for other in nodes.indices where nodes[other].isConnected { deliver(.event(change), other) }
        }
        // The answer is lost at times, although the operation was performed.
        let isLost = isFaulty && random.happens(0.1)
        let result = isLost ? .failure(.unavailable("The answer is lost.")) : outcome.result
        deliver(.result(outcome.operation, outcome.key, result), index)
    }

    // MARK: Links

    private mutating func advance(_ span: TimeSpan) {
        let end = now + span
        while now < end { advance() }
    }

    private mutating func advance() {
        now += Self.step
        for index in nodes.indices where nodes[index].isRunning { advanceMember(index) }
        for index in nodes.indices where nodes[index].isRunning {
            advancePull(index)
            watch(index)
            let gap = now - nodes[index].lastMedia
            nodes[index].longestGap = max(nodes[index].longestGap, gap)
        }
    }

    private func origins(at index: Int) -> [Origin] {
        nodes[index].member.origins(of: Self.name).map { origin in
            var other = Origin(uri: origin.address, epoch: origin.epoch.number)
            (other.isThisNode, other.claim) = (origin.node == "n\(index)", origin.epoch.claim)
            return other
        }
    }

    private func node(of origin: Origin) -> Int? {
        nodes.indices.first { origin.uri == "http://n\($0)" }
    }

    /// Lets the viewer of a node request the stream if it has none, and receive the publication of the node.
    private mutating func watch(_ index: Int) {
        if let watched = nodes[index].watched, watched != nodes[index].publication {
            (nodes[index].watched, nodes[index].nextRequest) = (nil, now + .milliseconds(100))
        }
        if nodes[index].watched != nil, nodes[index].isSending { nodes[index].lastMedia = now }
        guard nodes[index].watched == nil, nodes[index].pull == nil, now >= nodes[index].nextRequest else { return }
        nodes[index].nextRequest = now + .milliseconds(100)
        let isOrigin = nodes[index].member.origin(of: Self.name) == nil
        guard nodes[index].publication == nil || !isOrigin else {
            return nodes[index].watched = nodes[index].publication
        }
        let known = origins(at: index)
        let newest = known.map(\.publicationEpoch).max()
        for origin in known where origin.publicationEpoch == newest {
            if origin.isThisNode { break }
            if let connection = connection(from: index, to: origin) { return pull(index, origin, connection) }
        }
        // The publication of the node serves its viewers if no other one can.
        nodes[index].watched = nodes[index].publication
    }

    private func connection(from index: Int, to origin: Origin) -> Connection? {
        guard let other = node(of: origin), reaches(index, other), let publication = nodes[other].publication else {
            return nil
        }
        return Connection(node: other, publication: publication, since: now)
    }

    private mutating func pull(_ index: Int, _ origin: Origin, _ connection: Connection) {
        let id = StreamID("pull-\(number())")
        let link = PulledStream.Link(origin: origin, stream: id, nodes: [], since: now)
        let machine = PulledStream(id, link: link, closeAfter: .seconds(10), mayAppear: true)
        nodes[index].pull = Pull(machine: machine, connections: [id: connection])
    }

    private mutating func advancePull(_ index: Int) {
        guard var pull = nodes[index].pull else { return }
        if let attempt = pull.attempt, now >= attempt.end { finish(attempt.origin, of: &pull, at: index) }
        var arrivals: [StreamID: SFU.StreamArrivals] = [:]
        var ended: Set<StreamID> = []
        for stream in pull.machine.links {
            guard var connection = pull.connections[stream] else { continue }
            let other = connection.node
            let exists = nodes[other].publication == connection.publication && nodes[other].isRunning
            if exists, reaches(index, other) {
                connection.brokenSince = nil
                if nodes[other].isSending, now > connection.since { connection.last = now }
            } else {
                let since = connection.brokenSince ?? now
                connection.brokenSince = since
                // A node that runs and is reached reports the end.
                let isReported = nodes[other].isRunning && reaches(index, other)
                if isReported || now - since >= Self.consentTime { ended.insert(stream) }
            }
            pull.connections[stream] = connection
            arrivals[stream] = SFU.StreamArrivals(last: connection.last, isDecodable: connection.last != nil)
        }
        let outputs = pull.machine.advance(
            to: now, arrivals, ended: ended, viewers: 1, origins: origins(at: index))
        var hasEnded = false
        for output in outputs {
            switch output {
            case .connect(let origin):
                let isReached = node(of: origin).map { reaches(index, $0) || !nodes[$0].isRunning } ?? false
                pull.attempt = (origin, now + (isReached ? Self.step : Self.responseTime))
            case .select(let link):
                replaced += 1
                if link.origin.isThisNode { replacedByOwn += 1 }
            case .close(let stream): pull.connections[stream] = nil
            case .end, .release: hasEnded = true
            }
        }
        let current = pull.machine.current.stream
        if let last = pull.connections[current]?.last { nodes[index].lastMedia = max(nodes[index].lastMedia, last) }
        nodes[index].pull = hasEnded ? nil : pull
        if hasEnded { nodes[index].nextRequest = now + .milliseconds(100) }
    }

    private mutating func finish(_ origin: Origin, of pull: inout Pull, at index: Int) {
        pull.attempt = nil
        guard let connection = connection(from: index, to: origin) else { return pull.machine.failed(origin, at: now) }
        let stream = StreamID("link-\(number())")
        let link = PulledStream.Link(origin: origin, stream: stream, nodes: [], since: now)
        if pull.machine.connected(link) { pull.connections[stream] = connection }
    }
}

@Suite("A name with several publications, links and faults, on virtual time")
struct ClusterLinkSimulationTests {
    /// The 1,000 runs are in parts, which run at the same time.
    @Test(
        "viewers continue after the last fault, and one publication is forwarded for each epoch",
        arguments: 0..<4 as Range<UInt64>)
    func converges(part: UInt64) async {
        var (replaced, replacedByOwn) = (0, 0)
        for seed in part * Self.runs..<(part + 1) * Self.runs {
            var simulation = LinkSimulation(seed: seed)
            simulation.run()
            replaced += simulation.replaced
            replacedByOwn += simulation.replacedByOwn
            let failures = simulation.failures
            #expect(failures.isEmpty, "run \(seed)")
            // Other tests share the threads.
            await Task.yield()
        }
        #expect(replaced > Int(Self.runs), "the runs replace links")
        #expect(replacedByOwn > 0, "some links are replaced by the publication of the same node")
    }

    private static let runs: UInt64 = 250
}
