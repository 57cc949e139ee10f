import Foundation
import PCastCluster
import PCastCore
import PCastTestSupport
import Testing

/// A cluster on virtual time whose directory is slow, loses answers and values, and is partitioned, by a seed.
private struct ClusterSimulation {
    private enum Message {
        case event(DirectoryEvent)
        case result(UInt64, ClusterKey, Result<UInt64?, DirectoryError>)
        case operation(ClusterMember.Output)
    }

    private static let names = ["one", "two", "three"]
    private static let faultTime = 40
    private static let quietTime = 40

    private var random: SeededGenerator
    private var values = DirectoryValues()
    private var older = DirectoryValues()
    private var members: [ClusterMember]
    /// The messages from and to each member, which arrive in their order.
    private var inbox: [[(time: Instant, message: Message)]]
    private var outbox: [[(time: Instant, message: Message)]]
    private var isConnected: [Bool]
    private var streams: [[String: String]]
    private var now = Instant(nanoseconds: 0)
    private var nextStream = 0
    /// The highest version of each stream key that a member ever announced.
    private(set) var highest: [String: StreamEpoch] = [:]
    /// The tokens that are revoked for longer than the simulation takes.
    private(set) var revoked: Set<String> = []
    /// The stream of each epoch that a member ever wrote.
    private var claims: [String: String] = [:]
    private(set) var failures: [String] = []
    /// The number of fenced publications, which shows that conflicts happened.
    private(set) var fenced = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        members = (0..<3).map { index in
            // The clocks of the nodes have origins that differ by minutes.
            ClusterMember(
                ClusterNode(name: "n\(index)", incarnation: UInt64(index), address: "a\(index)", region: "r"),
                seed: seed &* 3 &+ UInt64(index), at: Self.local(Instant(nanoseconds: 0), index))
        }
        inbox = members.map { _ in [] }
        outbox = inbox
        isConnected = members.map { _ in false }
        streams = members.map { _ in [:] }
    }

    private static func local(_ time: Instant, _ index: Int) -> Instant { time + .seconds(Int64(index) * 300) }

    mutating func run() {
        for index in members.indices { connect(index) }
        for step in 0..<(Self.faultTime * 10) {
            if step % 5 == 0 { act() }
            advance()
        }
        for index in members.indices where !isConnected[index] { connect(index) }
        for _ in 0..<(Self.quietTime * 10) { advance() }
        checkConvergence()
    }

    // MARK: Faults and requests

    private mutating func act() {
        let index = random.next(below: members.count)
        let name = Self.names[random.next(below: Self.names.count)]
        switch random.next(below: 20) {
        case 0: disconnect(index)
        case 1, 2: if !isConnected[index] { connect(index) }
        case 3: if random.happens(0.3) { restart { $0.reset() } }
        case 4: older = values
        case 5:
            // The server has lost writes that it acknowledged.
            let restored = older
            if random.happens(0.5) { restart { $0 = restored } }
        case 6...9:
            nextStream += 1
            let stream = "s\(nextStream)"
            streams[index][name] = stream
            members[index].publish(
                ClusterStream(name: name, stream: stream, application: "app"),
                random.happens(0.5) ? .takeOver : .standby)
        case 10:
            if let stream = streams[index].removeValue(forKey: name) { members[index].end(name, stream: stream) }
        case 11:
            // The later revocations of a token are longer or shorter than the former ones.
            nextStream += 1
            members[index].revoke(TokenRevocation(token: name, lifetime: nextStream % 2 == 0 ? 20 : 1_000))
            if nextStream % 2 == 1 { revoked.insert(name) }
        case 12:
            // The clients of a node change a stream key.
            nextStream += 1
            let value = ClusterValue(
                kind: .streamKey, application: "app", name: name,
                version: StreamEpoch(number: members[index].lowestVersion + 1, claim: UInt64(nextStream)),
                content: Data("\(nextStream)".utf8))
            members[index].announce(value)
            highest[name] = max(highest[name] ?? value.version, value.version)
        default: break
        }
    }

    private mutating func restart(_ change: (inout DirectoryValues) -> Void) {
        change(&values)
        for index in members.indices where isConnected[index] {
            disconnect(index)
            connect(index)
        }
    }

    private mutating func disconnect(_ index: Int) {
        guard isConnected[index] else { return }
        isConnected[index] = false
        // The messages under way are lost. The member notices it later.
        (inbox[index], outbox[index]) = ([], [])
        deliver(.event(.disconnected("test")), index)
    }

    private mutating func connect(_ index: Int) {
        isConnected[index] = true
        for event in values.snapshot { deliver(.event(event), index) }
    }

    private mutating func deliver(_ message: Message, _ index: Int) {
        let delay = TimeSpan.milliseconds(Int64(random.next(below: 300)))
        inbox[index].append((max(now + delay, inbox[index].last?.time ?? now), message))
    }

    // MARK: Time

    private mutating func advance() {
        now += .milliseconds(100)
        for index in members.indices {
            while let first = inbox[index].first, first.time <= now {
                inbox[index].removeFirst()
                switch first.message {
                case .event(let event): members[index].handle(event)
                case .result(let operation, let key, let result): members[index].finish(operation, key, result)
                case .operation: break
                }
            }
            members[index].advance(to: Self.local(now, index))
            for output in members[index].takeOutputs() { send(output, index) }
            while let first = outbox[index].first, first.time <= now {
                outbox[index].removeFirst()
                if case .operation(let output) = first.message { perform(output, index) }
            }
        }
        checkHolders()
    }

    private mutating func send(_ output: ClusterMember.Output, _ index: Int) {
        switch output {
        case .event(let event):
            if case .fenced = event { fenced += 1 }
            return
        case .write(.stream(let stream), _, _):
            let claim = "\(stream.name) \(stream.epoch)"
            let known = claims.updateValue(stream.node, forKey: claim)
            if let known, known != stream.node { failures.append("\(claim) belongs to \(known) and \(stream.node)") }
        default: break
        }
        let delay = TimeSpan.milliseconds(Int64(random.next(below: 300)))
        // Operations overtake each other.
        let time = now + delay
        let place = outbox[index].firstIndex { $0.time > time } ?? outbox[index].endIndex
        outbox[index].insert((time, .operation(output)), at: place)
    }

    private mutating func perform(_ output: ClusterMember.Output, _ index: Int) {
        var changes: [DirectoryEvent] = []
        var outcome: (UInt64, ClusterKey, Result<UInt64?, DirectoryError>)
        switch output {
        case .event: return
        case .write(let record, let revision, let operation):
            let result = Result { () throws(DirectoryError) -> UInt64? in
                let written = try values.write(record, replacing: revision)
                changes.append(.changed(record, revision: written))
                return written
            }
            outcome = (operation, record.key, result)
        case .remove(let key, let revision, let operation):
            let result = Result { () throws(DirectoryError) -> UInt64? in
                if try values.remove(key, revision: revision) { changes.append(.removed(key)) }
                return nil
            }
            outcome = (operation, key, result)
        }
        for change in changes {
            for other in members.indices where isConnected[other] { deliver(.event(change), other) }
        }
        // The answer is lost at times, although the operation was performed.
        let isFaulty = now < Instant(nanoseconds: 0) + .seconds(Int64(Self.faultTime))
        if isFaulty, random.happens(0.1) { outcome.2 = .failure(.unavailable("The answer is lost.")) }
        deliver(.result(outcome.0, outcome.1, outcome.2), index)
    }

    // MARK: Invariants

    /// No two nodes hold one epoch of a name.
    private mutating func checkHolders() {
        for name in Self.names {
            var holders: [StreamEpoch: Int] = [:]
            for index in members.indices {
                guard let epoch = members[index].claimedEpoch(of: name) else { continue }
                if let other = holders.updateValue(index, forKey: epoch) {
                    failures.append("the nodes \(other) and \(index) hold \(name) \(epoch)")
                }
            }
        }
    }

    private mutating func checkConvergence() {
        for case .standby(let name, let node) in values.values.keys {
            guard let index = members.firstIndex(where: { $0.node.name == node }) else { continue }
            if streams[index][name] == nil { failures.append("\(name) stands by at \(node), which has ended it") }
            if members[index].claimedEpoch(of: name) != nil { failures.append("\(name) stands by at its holder") }
        }
        for name in Self.names {
            let holders = members.indices.filter { members[$0].claimedEpoch(of: name) != nil }
            guard holders.count <= 1 else {
                failures.append("the nodes \(holders) hold \(name) at the end")
                continue
            }
            guard let holder = holders.first else {
                if case .stream(let left)? = values.values[.stream(name)]?.record {
                    failures.append("\(name) at \(left.node) remains, and nobody holds it")
                }
                continue
            }
            let epoch = members[holder].claimedEpoch(of: name)
            for index in members.indices where index != holder {
                let origin = members[index].origin(of: name)
                if origin?.epoch != epoch || origin?.node != "n\(holder)" {
                    failures.append("the node \(index) has the origin \(String(describing: origin)) of \(name)")
                }
            }
        }
        for (name, version) in highest.sorted(by: { $0.key < $1.key }) {
            let key = ClusterKey.value(.streamKey, application: "app", name: name)
            guard case .value(let value)? = values.values[key]?.record, value.version == version else {
                failures.append("the directory does not have the newest version of the key \(name)")
                continue
            }
            for index in members.indices where members[index].value(key)?.version != version {
                failures.append("the node \(index) does not have the newest version of the key \(name)")
            }
        }
        for token in revoked.sorted() {
            for index in members.indices where !members[index].isRevoked(token) {
                failures.append("the node \(index) accepts the revoked token \(token)")
            }
        }
        for index in members.indices where members[index].nodes.count != members.count {
            failures.append("the node \(index) knows \(members[index].nodes.map(\.name))")
        }
    }
}

@Suite("A cluster with faults, on virtual time")
struct ClusterSimulationTests {
    @Test("two origins never have one epoch, and everything converges after the last fault, also revocations")
    func converges() async {
        var fenced = 0
        var revoked = 0
        var changed = 0
        for seed in 0..<Self.runs {
            var simulation = ClusterSimulation(seed: seed)
            simulation.run()
            fenced += simulation.fenced
            revoked += simulation.revoked.count
            changed += simulation.highest.count
            let failures = simulation.failures
            #expect(failures.isEmpty, "run \(seed)")
            // Other tests share the threads.
            await Task.yield()
        }
        #expect(fenced > Int(Self.runs), "the runs have conflicts")
        #expect(revoked > Int(Self.runs) / 2, "the runs have revocations")
        #expect(changed > Int(Self.runs) / 2, "the runs have changes of keys")
    }

    private static let runs: UInt64 = 1_000
}
