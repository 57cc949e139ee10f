import PCastCore
import PCastJSON
import PCastTestSupport
import Testing

@testable import PCastTimeline

/// The copies of a timeline at several nodes, whose home changes and which may not reach each other.
@Suite("The copies of a timeline at several nodes")
struct TimelineReplicaTests {
    private static func replica(_ log: String) -> TimelineReplica {
        TimelineReplica(TimelineLog(), TimelineLineage(TimelineLogID(log)), isOwn: true)
    }

    private static func put(_ id: String, _ text: String) throws -> TimelineRequest {
        TimelineRequest(.put(try TimelineEventID(id), GameEvent(["description": .string(text)])))
    }

    private static func time(_ seconds: Int64) -> WallTime { WallTime(millisecondsSinceEpoch: seconds * 1_000) }

    /// Copies the revisions of another node after the last one that both share, as a node does that follows it.
    private static func follow(_ home: TimelineReplica, _ replica: inout TimelineReplica) throws {
        let shared = home.shared(with: replica.lineage, newest: replica.newest)
        replica.reset(home.lineage, after: shared)
        for revision in home.log.changes(since: shared) { try replica.append(revision) }
    }

    /// Adds the revisions of a node that the home does not have. Returns those that later changes replace.
    private static func merge(
        _ replica: TimelineReplica, into home: inout TimelineReplica, beginning log: String, at now: WallTime
    ) throws -> [TimelineRevision] {
        let shared = home.shared(with: replica.lineage, newest: replica.newest)
        let revisions = Array(replica.log.changes(since: shared))
        guard !revisions.isEmpty else { return [] }
        if home.isContinued(by: replica.lineage, newest: replica.newest) {
            home.reset(replica.lineage, after: home.newest)
            for revision in revisions { try home.append(revision) }
            return []
        }
        let merge = home.merging(revisions, of: replica.lineage, after: shared, at: now)
        for (request, origin) in merge.requests {
            do throws(TimelineError) {
                guard let revision = try home.revision(for: request, origin: origin, at: now) else { continue }
                if !home.isOwn { home.begin(TimelineLogID(log)) }
                try home.append(revision)
            } catch {
                guard case .noEvent = error else { throw error }
            }
        }
        return merge.superseded
    }

    private static func record(
        _ request: TimelineRequest, _ origin: String, in replica: inout TimelineReplica, beginning log: String,
        at now: WallTime
    ) throws {
        if !replica.isOwn { replica.begin(TimelineLogID(log)) }
        let revision = try #require(try replica.revision(for: request, origin: origin, at: now))
        try replica.append(revision)
    }

    @Test("a node that takes over begins a log, and its consumers continue where the former one ended")
    func lineage() throws {
        var home = Self.replica("a")
        try Self.record(try Self.put("1", "x"), "r1", in: &home, beginning: "-", at: Self.time(1))
        var other = TimelineReplica(TimelineLog(), TimelineLineage(), isOwn: false)
        try Self.follow(home, &other)
        #expect(other.lineage == home.lineage && !other.isOwn)
        try Self.record(try Self.put("2", "x"), "r2", in: &home, beginning: "-", at: Self.time(2))
        try Self.record(try Self.put("3", "x"), "r3", in: &other, beginning: "b", at: Self.time(3))
        #expect(
            other.lineage.forks == [
                .init(TimelineLogID("a"), after: .none), .init(TimelineLogID("b"), after: .init(1)),
            ])
        #expect(other.lineage.end(of: TimelineLogID("a"), newest: other.newest) == SequenceNumber(1))
        #expect(other.lineage.end(of: TimelineLogID("b"), newest: other.newest) == SequenceNumber(2))
        #expect(other.lineage.end(of: TimelineLogID("c"), newest: other.newest) == nil)
        #expect(other.shared(with: home.lineage, newest: home.newest) == SequenceNumber(1))
        // The former home returns. Its revision follows.
        #expect(try Self.merge(home, into: &other, beginning: "-", at: Self.time(9)).isEmpty)
        #expect(other.log.revisions.map(\.origin) == ["r1", "r3", "r2"])
        try Self.follow(other, &home)
        #expect(home.log.revisions == other.log.revisions && home.lineage == other.lineage)
        // It is not added again.
        #expect(try Self.merge(home, into: &other, beginning: "-", at: Self.time(9)).isEmpty)
        #expect(other.newest == SequenceNumber(3))
    }

    @Test("of two changes of an event at two nodes, the later one remains, and the other one is reported")
    func conflict() throws {
        var home = Self.replica("a")
        try Self.record(try Self.put("1", "x"), "r1", in: &home, beginning: "-", at: Self.time(1))
        var other = TimelineReplica(TimelineLog(), TimelineLineage(), isOwn: false)
        try Self.follow(home, &other)
        for (text, seconds) in [("earlier", Int64(2)), ("later", 8)] {
            var (first, second) = (home, other)
            try Self.record(try Self.put("1", text), "r2", in: &first, beginning: "-", at: Self.time(seconds))
            try Self.record(try Self.put("1", "between"), "r3", in: &second, beginning: "b", at: Self.time(5))
            let superseded = try Self.merge(first, into: &second, beginning: "-", at: Self.time(9))
            #expect(superseded.map(\.origin) == (text == "earlier" ? ["r2"] : []))
            let event = second.log.event(try TimelineEventID("1"))
            #expect(event?.object["description"]?.string == (text == "earlier" ? "between" : "later"))
        }
    }

    @Test("a lineage forgets its oldest logs, and its text is rejected if it is not in order")
    func bounds() throws {
        var lineage = TimelineLineage(TimelineLogID("0"))
        for number in 1...100 { lineage.begin(TimelineLogID("\(number)"), after: SequenceNumber(number)) }
        #expect(lineage.forks.count == TimelineLineage.capacity)
        #expect(lineage.end(of: TimelineLogID("0"), newest: SequenceNumber(200)) == nil)
        #expect(lineage.end(of: TimelineLogID("99"), newest: SequenceNumber(200)) == SequenceNumber(100))
        #expect(TimelineLineage(lineage.forks) == lineage)
        #expect(TimelineLineage(Array(lineage.forks.reversed())) == nil)
        #expect(TimelineLineage(lineage.forks + [.init(TimelineLogID("x"), after: SequenceNumber(500))]) == nil)
        #expect(
            TimelineLineage([.init(TimelineLogID("a"), after: .none), .init(TimelineLogID("a"), after: .none)]) == nil)
    }

    @Test("a revision keeps the identifier of its request in its text")
    func text() throws {
        var home = Self.replica("a")
        try Self.record(try Self.put("1", "x"), "r1", in: &home, beginning: "-", at: Self.time(1))
        let revision = try #require(home.log.revisions.first)
        #expect(try TimelineRevision(parsing: revision.bytes) == revision)
        #expect(home.revision(of: "r1") == revision && home.revision(of: "r2") == nil)
    }

    @Test("a request is rejected if its revision fits into the log only without its identifier")
    func space() throws {
        let request = try Self.put("1", "x")
        let revision = try #require(try TimelineLog().revision(for: request, at: Self.time(1)))
        var limits = TimelineLimits.standard
        limits.logBytes = revision.bytes.count + 4
        let replica = TimelineReplica(
            TimelineLog(within: limits), TimelineLineage(TimelineLogID("a")), isOwn: true)
        #expect(try replica.revision(for: request, origin: nil, at: Self.time(1)) == revision)
        #expect(throws: TimelineError.full(limit: limits.logBytes)) {
            _ = try replica.revision(for: request, origin: "r1", at: Self.time(1))
        }
    }

    // MARK: Simulation

    /// A consumer, which is connected to one node at a time and connects again at any node with its number and its log.
    private struct Consumer {
        var log: TimelineLogID?
        var revisions: [TimelineRevision] = []
        var restarts = 0

        /// Receives what a node sends after a connection.
        mutating func connect(to replica: TimelineReplica) {
            guard let newest = replica.lineage.newest else { return }
            var start = 0
            if let log, let end = replica.lineage.end(of: log, newest: replica.newest), revisions.count <= end.value {
                start = revisions.count
            }
            if start < revisions.count { (revisions, restarts) = ([], restarts + 1) }
            revisions += replica.log.changes(since: SequenceNumber(start))
            log = newest
        }
    }

    /// Nodes that record requests. In each step, a part of them reach a home, which changes, and the others record alone. A node
    /// that stops keeps its revisions, as they are on its disk.
    private struct Simulation {
        var random: SeededGenerator
        var nodes: [TimelineReplica]
        var stopped: Set<Int> = []
        var consumers: [Consumer]
        var home = 0
        var logs = 0
        var now = Int64(1)
        /// The requests that were accepted, by their origins.
        var accepted: [String: TimelineEventID] = [:]
        var superseded: Set<String> = []

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            nodes = (0..<3).map { _ in TimelineReplica(TimelineLog(), TimelineLineage(), isOwn: false) }
            consumers = Array(repeating: Consumer(), count: 4)
        }

        private mutating func logID() -> String {
            logs += 1
            return "log\(logs)"
        }

        private mutating func record(at node: Int) throws {
            now += 1
            let id = "e\(Int.random(in: 0..<6, using: &random))"
            let origin = "r\(accepted.count)"
            let request = try put(id, origin)
            try TimelineReplicaTests.record(
                request, origin, in: &nodes[node], beginning: logID(), at: TimelineReplicaTests.time(now))
            accepted[origin] = try TimelineEventID(id)
        }

        /// Merges a node's revisions at the home, and gives it those of the home.
        private mutating func synchronize(_ node: Int) throws {
            guard node != home else { return }
            let replaced = try TimelineReplicaTests.merge(
                nodes[node], into: &nodes[home], beginning: logID(), at: TimelineReplicaTests.time(now))
            superseded.formUnion(replaced.compactMap(\.origin))
            try TimelineReplicaTests.follow(nodes[home], &nodes[node])
        }

        mutating func step() throws {
            let running = nodes.indices.filter { !stopped.contains($0) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                // The home is lost, or another node becomes it.
                home = running.randomElement(using: &random) ?? home
            case 1 where running.count > 1:
                let node = running.randomElement(using: &random) ?? 0
                stopped.insert(node)
                if node == home { home = nodes.indices.first { !stopped.contains($0) } ?? home }
            case 2:
                if let node = stopped.randomElement(using: &random) {
                    stopped.remove(node)
                    // Another process continues a log of a file, and does not know that it has begun it.
                    let former = nodes[node]
                    nodes[node] = TimelineReplica(former.log, former.lineage, isOwn: false)
                }
            case 3, 4, 5:
                if let node = running.randomElement(using: &random) { try record(at: node) }
            case 6, 7:
                if let node = running.randomElement(using: &random) { try synchronize(node) }
            default:
                let node = running.randomElement(using: &random) ?? home
                let index = Int.random(in: consumers.indices, using: &random)
                consumers[index].connect(to: nodes[node])
            }
        }

        mutating func converge() throws {
            stopped = []
            for _ in 0..<2 { for node in nodes.indices { try synchronize(node) } }
            for index in consumers.indices { consumers[index].connect(to: nodes[index % nodes.count]) }
        }

        private func put(_ id: String, _ text: String) throws -> TimelineRequest {
            try TimelineReplicaTests.put(id, text)
        }
    }

    @Test("no accepted event is lost, and all nodes and consumers end with the same revisions in the same order")
    func simulation() throws {
        for seed in UInt64(0)..<1_000 {
            var simulation = Simulation(seed: seed)
            for _ in 0..<80 { try simulation.step() }
            try simulation.converge()
            let home = simulation.nodes[simulation.home]
            for node in simulation.nodes {
                #expect(node.log.revisions == home.log.revisions, "seed \(seed)")
                #expect(node.lineage == home.lineage, "seed \(seed)")
            }
            for consumer in simulation.consumers {
                #expect(consumer.revisions == home.log.revisions, "seed \(seed)")
            }
            // Each accepted request has one revision, or was replaced by a later one of the same event, which was reported.
            let origins = home.log.revisions.compactMap(\.origin)
            #expect(origins.count == Set(origins).count && origins.count == home.newest.value, "seed \(seed)")
            let lost = Set(simulation.accepted.keys).subtracting(origins).subtracting(simulation.superseded)
            #expect(lost.isEmpty, "seed \(seed): \(lost)")
            for origin in simulation.superseded {
                let id = try #require(simulation.accepted[origin])
                #expect(home.log.event(id) != nil, "seed \(seed)")
            }
        }
    }
}
