import Foundation
import PCastCluster
import PCastCore
import Testing

/// A member whose directory answers at once, on virtual time.
struct TestMember {
    var member: ClusterMember
    var now = Instant(nanoseconds: 0)
    var events: [ClusterEvent] = []
    /// Whether the directory performs the operations.
    var isConnected = false

    init(_ name: String, seed: UInt64, incarnation: UInt64 = 1) {
        let node = ClusterNode(
            name: name, incarnation: incarnation, address: "http://\(name)", region: "r",
            load: NodeLoad(capacity: 100))
        member = ClusterMember(node, seed: seed, at: now)
    }

    mutating func connect(_ values: DirectoryValues) {
        isConnected = true
        for event in values.snapshot { member.handle(event) }
    }

    mutating func disconnect() {
        isConnected = false
        member.handle(.disconnected("test"))
    }

    /// Performs the operations that the member requests, and reports the changes. Returns the changes.
    mutating func perform(_ values: inout DirectoryValues) -> [DirectoryEvent] {
        var changes: [DirectoryEvent] = []
        while true {
            let outputs = member.takeOutputs()
            guard !outputs.isEmpty else { return changes }
            for output in outputs {
                switch output {
                case .event(let event): events.append(event)
                case .write(let record, let revision, let operation):
                    let result = Result { () throws(DirectoryError) -> UInt64? in
                        guard isConnected else { throw .unavailable("test") }
                        return try values.write(record, replacing: revision)
                    }
                    if case .success(let written?) = result { changes.append(.changed(record, revision: written)) }
                    member.finish(operation, record.key, result)
                case .remove(let key, let revision, let operation):
                    let result = Result { () throws(DirectoryError) -> UInt64? in
                        guard isConnected else { throw .unavailable("test") }
                        if try values.remove(key, revision: revision) { changes.append(.removed(key)) }
                        return nil
                    }
                    member.finish(operation, key, result)
                }
            }
        }
    }
}

/// Members that share a directory.
struct TestCluster {
    var values = DirectoryValues()
    var members: [TestMember]

    init(_ names: [String]) {
        members = names.enumerated().map { TestMember($0.element, seed: UInt64($0.offset) + 1) }
        for index in members.indices { members[index].connect(values) }
        advance(.zero)
    }

    /// Performs all operations and reports all changes.
    mutating func settle() {
        var isSettled = false
        while !isSettled {
            isSettled = true
            for index in members.indices {
                for change in members[index].perform(&values) {
                    isSettled = false
                    for other in members.indices where members[other].isConnected {
                        members[other].member.handle(change)
                    }
                }
            }
        }
    }

    /// Advances the time in steps of a quarter of a second. `stopped` are members that do not run.
    mutating func advance(_ span: TimeSpan, stopped: Set<Int> = []) {
        var rest = span
        repeat {
            let step = min(rest, .milliseconds(250))
            for index in members.indices where !stopped.contains(index) {
                members[index].now += step
                members[index].member.advance(to: members[index].now)
            }
            settle()
            rest = rest - step
        } while rest > .zero
    }

    mutating func publish(_ stream: String, as name: String, at index: Int, _ claim: ClusterMember.Claim = .takeOver) {
        members[index].member.publish(ClusterStream(name: name, stream: stream, application: "app"), claim)
        settle()
    }

    func origin(of name: String, at index: Int) -> String? {
        members[index].member.origin(of: name)?.stream.description
    }
}

@Suite("The decisions of a node about the directory")
struct ClusterMemberTests {
    @Test("of two nodes that claim a room at the same time, the first one is its home, and the other one follows it")
    func homeOfRoom() {
        var cluster = TestCluster(["a", "b"])
        let name = ClusterStream.roomHomeName(application: "app", alias: "demo")
        #expect(ClusterStream.isRoomHome(name))
        #expect(!ClusterStream.isRoomHome("demo"))
        for index in cluster.members.indices {
            cluster.members[index].member.publish(
                ClusterStream(name: name, stream: "room", application: "app"), .standby)
        }
        cluster.settle()
        cluster.advance(.seconds(3))
        #expect(cluster.members[0].member.claimedEpoch(of: name) != nil)
        #expect(cluster.members[1].member.claimedEpoch(of: name) == nil)
        #expect(cluster.origin(of: name, at: 1) == "room")
        let fenced = cluster.members.flatMap(\.events).contains { event in
            if case .fenced = event { true } else { false }
        }
        #expect(!fenced)
        // A room is no stream.
        #expect(cluster.members[1].member.remoteStreams.isEmpty)

        cluster.members[0].member.leave()
        cluster.settle()
        cluster.advance(.seconds(3))
        #expect(cluster.members[1].member.claimedEpoch(of: name) != nil)
        #expect(cluster.origin(of: name, at: 1) == nil)
    }

    @Test("a published stream is found at other nodes with the address of its node, until it ends")
    func publication() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        let origin = try #require(cluster.members[1].member.origin(of: "show"))
        #expect(origin.node == "a" && origin.address == "http://a" && origin.stream == StreamID("s1"))
        #expect(cluster.members[0].member.claimedEpoch(of: "show") == origin.epoch)
        #expect(cluster.origin(of: "show", at: 0) == nil, "a node is not its own origin")
        cluster.members[0].member.end("show", stream: "another")
        cluster.settle()
        #expect(cluster.origin(of: "show", at: 1) == "s1")
        cluster.members[0].member.end("show", stream: "s1")
        cluster.settle()
        #expect(cluster.origin(of: "show", at: 1) == nil)
        #expect(cluster.values.values[.stream("show")] == nil)
    }

    @Test("a publication that takes over fences the former origin with a higher epoch")
    func takeOver() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        let former = try #require(cluster.members[0].member.claimedEpoch(of: "show"))
        cluster.publish("s2", as: "show", at: 1)
        let epoch = try #require(cluster.members[1].member.claimedEpoch(of: "show"))
        #expect(epoch > former)
        #expect(cluster.members[0].events.contains(.fenced("show", stream: "s1", by: "b")))
        #expect(cluster.members[0].member.claimedEpoch(of: "show") == nil)
        #expect(cluster.origin(of: "show", at: 0) == "s2")
    }

    @Test("a standby publication waits until the other one ends, or its node is lost")
    func standby() {
        var cluster = TestCluster(["a", "b", "c"])
        cluster.publish("s1", as: "show", at: 0, .standby)
        cluster.publish("s2", as: "show", at: 1, .standby)
        #expect(cluster.origin(of: "show", at: 2) == "s1")
        cluster.members[0].member.end("show", stream: "s1")
        cluster.settle()
        #expect(cluster.origin(of: "show", at: 2) == "s2")
        cluster.publish("s3", as: "show", at: 2, .standby)
        #expect(cluster.origin(of: "show", at: 0) == "s2")
        cluster.advance(.seconds(5), stopped: [1])
        #expect(cluster.origin(of: "show", at: 0) == "s2")
        cluster.advance(.seconds(3), stopped: [1])
        #expect(cluster.origin(of: "show", at: 0) == "s3")
        #expect(cluster.members[1].events.contains(.fenced("show", stream: "s2", by: "c")))
    }

    @Test("edges know the publications that stand by, also while the lease of the origin has not expired")
    func standbyOrigins() throws {
        var cluster = TestCluster(["a", "b", "c", "d"])
        cluster.publish("s1", as: "show", at: 0, .standby)
        cluster.publish("s3", as: "show", at: 2, .standby)
        cluster.publish("s2", as: "show", at: 1, .standby)
        let known = cluster.members[3].member.origins(of: "show")
        #expect(known.map(\.node) == ["a", "b", "c"])
        #expect(known.map(\.stream.description) == ["s1", "s2", "s3"])
        #expect(Set(known.map(\.epoch)).count == 1)
        for index in 0..<3 {
            #expect(cluster.members[index].member.origins(of: "show") == known, "all nodes select the same one")
        }
        cluster.advance(.seconds(3), stopped: [0])
        #expect(cluster.members[3].member.origins(of: "show").map(\.node) == ["a", "b", "c"])
        cluster.advance(.seconds(5), stopped: [0])
        // One of both has claimed the name, and does not stand by any more.
        let claimed = cluster.members[3].member.origins(of: "show")
        #expect(claimed.map(\.node) == ["b", "c"] || claimed.map(\.node) == ["c", "b"])
        let epoch = try #require(claimed.first?.epoch)
        #expect(epoch > known[0].epoch)
        let origin = try #require(cluster.members[3].member.origin(of: "show"))
        #expect(cluster.values.values[.standby("show", node: origin.node)] == nil)
        let ending = origin.node == "b" ? 2 : 1
        cluster.members[ending].member.end("show", stream: ending == 1 ? "s2" : "s3")
        cluster.settle()
        #expect(cluster.members[3].member.origins(of: "show").map(\.node) == [origin.node])
    }

    @Test("a lease expires without renewals, is renewed by any change, and its values are removed later")
    func leases() {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        cluster.advance(.seconds(30))
        #expect(!cluster.members[1].events.contains(.nodeLost("a")))
        cluster.advance(.seconds(8), stopped: [0])
        #expect(cluster.members[1].events.contains(.nodeLost("a")))
        #expect(cluster.origin(of: "show", at: 1) == nil)
        #expect(cluster.members[1].member.nodes.map(\.name) == ["b"])
        cluster.advance(.seconds(3))
        #expect(cluster.origin(of: "show", at: 1) == "s1")
        cluster.members[0].disconnect()
        cluster.advance(.seconds(130))
        #expect(cluster.values.values.count == 1)
        #expect(cluster.values.values[.node("b")] != nil)
    }

    @Test("without the directory no lease expires, and known streams are found")
    func disconnected() {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        cluster.members[1].disconnect()
        cluster.advance(.seconds(600))
        #expect(cluster.origin(of: "show", at: 1) == "s1")
        #expect(!cluster.members[1].events.contains(.nodeLost("a")))
        // A node that does not return is lost a lease time after the connection.
        cluster.members[1].connect(cluster.values)
        cluster.advance(.seconds(5), stopped: [0])
        #expect(cluster.origin(of: "show", at: 1) == "s1")
        cluster.advance(.seconds(2), stopped: [0])
        #expect(cluster.origin(of: "show", at: 1) == nil)
    }

    @Test("streams are announced again with their epochs when the directory has lost its values")
    func emptied() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        let epoch = try #require(cluster.members[0].member.claimedEpoch(of: "show"))
        for index in 0..<2 { cluster.members[index].disconnect() }
        cluster.values.reset()
        // A publication without a directory is announced when it is back.
        cluster.publish("s2", as: "other", at: 1)
        #expect(cluster.members[1].member.claimedEpoch(of: "other") == nil)
        for index in 0..<2 { cluster.members[index].connect(cluster.values) }
        cluster.advance(.seconds(3))
        #expect(cluster.members[1].member.origin(of: "show")?.epoch == epoch)
        #expect(cluster.origin(of: "other", at: 0) == "s2")
    }

    @Test("an origin that was cut off is fenced when it returns, even if its values were removed")
    func staleOrigin() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        let stale = try #require(cluster.members[0].member.claimedEpoch(of: "show"))
        cluster.members[0].disconnect()
        cluster.advance(.seconds(200))
        #expect(cluster.values.values[.stream("show")] == nil)
        cluster.publish("s2", as: "show", at: 1)
        let epoch = try #require(cluster.members[1].member.claimedEpoch(of: "show"))
        #expect(epoch > stale)
        cluster.members[0].connect(cluster.values)
        cluster.advance(.seconds(3))
        #expect(cluster.members[0].events.contains(.fenced("show", stream: "s1", by: "b")))
        #expect(cluster.origin(of: "show", at: 0) == "s2")
    }

    @Test("the process that started last has a node's name, and the other one announces nothing more")
    func superseded() {
        var cluster = TestCluster(["a", "b"])
        var other = TestMember("a", seed: 9, incarnation: 2)
        other.connect(cluster.values)
        cluster.members.append(other)
        cluster.advance(.seconds(10))
        #expect(cluster.members[0].events.contains(.superseded))
        #expect(!cluster.members[2].events.contains(.superseded))
        cluster.publish("s1", as: "show", at: 0)
        #expect(cluster.values.values[.stream("show")] == nil)
    }

    @Test("of two processes with one name, one keeps it if the other one was disconnected meanwhile")
    func disconnectedProcess() {
        var cluster = TestCluster(["a", "b"])
        var other = TestMember("a", seed: 9, incarnation: 2)
        other.connect(cluster.values)
        cluster.members.append(other)
        cluster.advance(.zero)
        cluster.members[2].disconnect()
        cluster.advance(.seconds(10))
        #expect(!cluster.members[0].events.contains(.superseded), "the other process does not renew its announcement")
        cluster.members[2].connect(cluster.values)
        cluster.advance(.seconds(10))
        #expect(cluster.members[2].events.contains(.superseded))
        #expect(!cluster.members[0].events.contains(.superseded))
    }

    @Test("a node keeps its name if the directory has the announcement of its former process again")
    func restoredAnnouncement() {
        var cluster = TestCluster(["a", "b"])
        let former = cluster.values
        cluster.members[0] = TestMember("a", seed: 9, incarnation: 2)
        cluster.members[0].connect(cluster.values)
        cluster.advance(.seconds(10))
        // The server has lost writes that it acknowledged.
        cluster.values = former
        for index in cluster.members.indices {
            cluster.members[index].disconnect()
            cluster.members[index].connect(cluster.values)
        }
        cluster.publish("s1", as: "show", at: 0)
        cluster.advance(.seconds(10))
        #expect(!cluster.members[0].events.contains(.superseded))
        #expect(cluster.origin(of: "show", at: 1) == "s1")
        // The new process need not have seen the announcement of the former one.
        cluster.members[0] = TestMember("a", seed: 10, incarnation: 3)
        cluster.members[0].connect(DirectoryValues())
        cluster.values.reset()
        cluster.advance(.seconds(10))
        cluster.values = former
        for index in cluster.members.indices {
            cluster.members[index].disconnect()
            cluster.members[index].connect(cluster.values)
        }
        cluster.publish("s2", as: "show", at: 0)
        cluster.advance(.seconds(10))
        #expect(!cluster.members[0].events.contains(.superseded))
        #expect(cluster.origin(of: "show", at: 1) == "s2")
    }

    /// Returns the number of elements in all collections of a member.
    private static func size(_ member: ClusterMember) -> Int {
        Mirror(reflecting: member).children.reduce(0) { sum, child in
            let value = Mirror(reflecting: child.value)
            switch value.displayStyle {
            case .set?, .dictionary?, .collection?: return sum + value.children.count
            default: return sum
            }
        }
    }

    @Test("a node keeps nothing of streams that have ended, whether the directory is connected or not")
    func memory() {
        var cluster = TestCluster(["a", "b"])
        let sizes = cluster.members.map { Self.size($0.member) }
        for isConnected in [true, false] {
            if !isConnected { for index in 0..<2 { cluster.members[index].disconnect() } }
            for number in 0..<20 {
                cluster.publish("s\(number)", as: "show \(number)", at: 0)
                cluster.members[0].member.end("show \(number)", stream: "s\(number)")
                cluster.settle()
            }
            let current = cluster.members.map { Self.size($0.member) }
            #expect(current == sizes)
        }
        // Each member has at least the values of both nodes.
        #expect(sizes.allSatisfy { $0 >= 2 })
    }

    @Test("a drain request reaches the process that it names only")
    func draining() {
        var cluster = TestCluster(["a", "b"])
        #expect(cluster.members[0].member.requestDrain(of: "b") == true)
        #expect(cluster.members[0].member.requestDrain(of: "c") == false)
        cluster.settle()
        #expect(cluster.members[1].events.contains(.drainRequested))
        cluster.members[1].member.setDraining(true)
        cluster.settle()
        #expect(cluster.members[0].member.nodes.last?.isDraining == true)
        var next = TestMember("b", seed: 9, incarnation: 2)
        next.connect(cluster.values)
        #expect(!next.events.contains(.drainRequested))
        #expect(next.member.takeOutputs().contains(.event(.drainRequested)) == false)
    }

    @Test("a node that accepts clients again does not follow a former drain request, and follows a new one")
    func acceptingAgain() {
        var cluster = TestCluster(["a", "b"])
        _ = cluster.members[0].member.requestDrain(of: "b")
        cluster.settle()
        cluster.members[1].member.setDraining(true)
        cluster.settle()
        cluster.members[1].member.setDraining(false)
        cluster.settle()
        #expect(cluster.members[0].member.nodes.last?.isDraining == false)
        cluster.members[1].connect(cluster.values)
        cluster.settle()
        #expect(cluster.members[1].events.filter { $0 == .drainRequested }.count == 1)
        _ = cluster.members[0].member.requestDrain(of: "b")
        cluster.settle()
        #expect(cluster.members[1].events.filter { $0 == .drainRequested }.count == 2)
    }

    @Test("a rejected value is reported once for each connection")
    func rejections() {
        var cluster = TestCluster(["a"])
        for _ in 0..<3 { cluster.members[0].member.handle(.rejected("x")) }
        cluster.settle()
        #expect(cluster.members[0].events.filter { $0 == .rejected("x") }.count == 1)
        cluster.members[0].connect(cluster.values)
        cluster.members[0].member.handle(.rejected("x"))
        cluster.settle()
        #expect(cluster.members[0].events.filter { $0 == .rejected("x") }.count == 2)
    }

    @Test("a node that stops removes its values")
    func leaving() {
        var cluster = TestCluster(["a", "b"])
        cluster.publish("s1", as: "show", at: 0)
        cluster.members[0].member.leave()
        cluster.settle()
        #expect(cluster.members[0].member.hasLeft == true)
        cluster.advance(.seconds(4))
        #expect(cluster.values.values.count == 1)
    }

    @Test("a node announces its streams in the order of their names when the directory is connected")
    func orderOfAnnouncements() {
        var node = TestMember("a", seed: 1)
        let names = (0..<12).map { "stream \($0 * 7 % 12)" }
        for name in names {
            node.member.publish(ClusterStream(name: name, stream: name, application: "app"), .takeOver)
        }
        node.connect(DirectoryValues())
        let written = node.member.takeOutputs().compactMap { output in
            if case .write(.stream(let stream), _, _) = output { stream.name } else { nil }
        }
        #expect(written == names.sorted())
    }

    @Test("nodes that are lost at the same time are reported in the order of their names")
    func orderOfLostNodes() {
        let names = (0..<12).map { "node \($0 * 7 % 12)" }
        var cluster = TestCluster(["a"] + names)
        cluster.members[0].events = []
        cluster.advance(.seconds(7 as Int64), stopped: Set(1...12))
        let lost = cluster.members[0].events.compactMap { if case .nodeLost(let name) = $0 { name } else { nil } }
        #expect(lost == names.sorted())
    }

    @Test("a revocation reaches all nodes, and is removed after the lifetime of its token")
    func revocation() {
        var cluster = TestCluster(["a", "b"])
        cluster.members[0].member.revoke(TokenRevocation(token: "t", lifetime: 60))
        cluster.settle()
        cluster.advance(.seconds(50))
        #expect(cluster.members[1].member.isRevoked("t") == true)
        #expect(cluster.members[1].events.filter { $0 == .revoked("t") }.count == 1)
        cluster.advance(.seconds(20))
        #expect(cluster.members[1].member.isRevoked("t") == false)
        #expect(cluster.values.values[.revocation("t")] == nil)
    }

    @Test("a shorter revocation of a token does not replace a longer one at any node")
    func shorterRevocation() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.members[0].member.revoke(TokenRevocation(token: "t", lifetime: 60))
        cluster.settle()
        cluster.members[1].member.revoke(TokenRevocation(token: "t", lifetime: 10))
        cluster.settle()
        cluster.advance(.seconds(30))
        for member in cluster.members { #expect(member.member.isRevoked("t") == true) }
        let record = try #require(cluster.values.values[.revocation("t")]?.record)
        #expect(record == .revocation(TokenRevocation(token: "t", lifetime: 60)))
        cluster.members[1].member.revoke(TokenRevocation(token: "t", lifetime: 90))
        cluster.settle()
        cluster.advance(.seconds(60))
        for member in cluster.members { #expect(member.member.isRevoked("t") == true, "it was extended") }
    }

    @Test("a directory that has a shorter revocation again, because it lost a write, gets the longer one")
    func restoredRevocation() throws {
        var cluster = TestCluster(["a", "b"])
        cluster.members[0].member.revoke(TokenRevocation(token: "t", lifetime: 10))
        cluster.settle()
        let older = cluster.values
        cluster.members[0].member.revoke(TokenRevocation(token: "t", lifetime: 600))
        cluster.settle()
        cluster.values = older
        for index in cluster.members.indices {
            cluster.members[index].disconnect()
            cluster.members[index].connect(cluster.values)
        }
        cluster.settle()
        cluster.advance(.seconds(60))
        for member in cluster.members { #expect(member.member.isRevoked("t") == true) }
        guard case .revocation(let kept)? = cluster.values.values[.revocation("t")]?.record else {
            Issue.record("the directory has no revocation")
            return
        }
        #expect(kept.lifetime > 500)
        // A node that joins later receives the longer one, too.
        cluster.members.append(TestMember("c", seed: 9))
        cluster.members[2].connect(cluster.values)
        cluster.advance(.seconds(60))
        #expect(cluster.members[2].member.isRevoked("t") == true)
    }

    @Test("no revocation is lost for the program, however many wait, and what it only logs is bounded")
    func manyEvents() async {
        let events = ClusterEvents()
        let count = 5 * ClusterEvents.informationLimit
        for index in 0..<count {
            events.yield(.revoked("\(index)"))
            events.yield(.failed("\(index)"))
        }
        events.finish()
        var revoked: [String] = []
        var failures: [String] = []
        for await event in events {
            if case .revoked(let token) = event { revoked.append(token) }
            if case .failed(let reason) = event { failures.append(reason) }
        }
        #expect(revoked == (0..<count).map { "\($0)" })
        #expect(failures == (0..<ClusterEvents.informationLimit).map { "\($0)" })
    }

    @Test("a directory that has lost its data gets the revocations again")
    func lostRevocation() {
        var cluster = TestCluster(["a", "b"])
        cluster.members[0].member.revoke(TokenRevocation(token: "t", lifetime: 60))
        cluster.settle()
        cluster.values = DirectoryValues()
        for index in cluster.members.indices {
            cluster.members[index].disconnect()
            cluster.members[index].connect(cluster.values)
        }
        cluster.settle()
        #expect(cluster.values.values[.revocation("t")] != nil)
        #expect(cluster.members[1].member.isRevoked("t") == true)
    }

    @Test("values with another code, another key or extreme numbers are rejected")
    func coding() throws {
        let coding = ClusterRecordCoding(secret: "a secret of the cluster")
        let stream = ClusterRecord.stream(ClusterStream(name: "show", stream: "s", application: "a", node: "n"))
        let bytes = try #require(coding.encode(stream))
        #expect(coding.decode(bytes, stream.key) == stream)
        #expect(coding.decode(bytes, .stream("other")) == nil)
        #expect(ClusterRecordCoding(secret: "another secret").decode(bytes, stream.key) == nil)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(coding.decode(changed, stream.key) == nil)
            #expect(coding.decode(bytes.prefix(index), stream.key) == nil)
        }
        let node = ClusterNode(
            name: "n", incarnation: 1, address: "", region: "", load: NodeLoad(viewers: .max, capacity: .max))
        #expect(coding.encode(.node(node)) == nil)
        var server = ClusterNode(name: "n", incarnation: 1, address: "", region: "")
        for (port, isValid) in [(1_935, true), (0, false), (65_536, false), (.min, false)] {
            server.rtmpPort = port
            #expect((coding.encode(.node(server)) != nil) == isValid, "\(port)")
        }
        let name = String(repeating: "x", count: ClusterRecordCoding.maximumSize)
        #expect(coding.encode(.stream(ClusterStream(name: name, stream: "s", application: "a", node: "n"))) == nil)
        let keys: [ClusterKey] = [
            .stream("ä/+?>"), .standby("a.b", node: "ä"), .node("n"), .drain("."), .revocation("="),
        ]
        for key in keys {
            #expect(ClusterKey(text: key.text) == key)
        }
        let others = [
            "", "stream", "stream.", "stream.***", "other.bg", "stream.a.b", "standby.bg", "standby.bg.",
            "standby.bg.bg.bg", ".",
        ]
        for text in others {
            #expect(ClusterKey(text: text) == nil)
        }
        let epoch = StreamEpoch(number: 7, claim: .max)
        #expect(StreamEpoch(epoch.description) == epoch)
        #expect(StreamEpoch("7") == nil && StreamEpoch("7-") == nil && StreamEpoch("-1-2") == nil)
    }
}
