import Foundation
import PCastCluster
import PCastCore
import Testing

@Suite("The persistent data of a cluster")
struct ClusterPersistenceTests {
    private static func value(_ number: UInt64, _ content: String?, claim: UInt64 = 1) -> ClusterValue {
        ClusterValue(
            kind: .streamKey, application: "app", name: "studio", version: StreamEpoch(number: number, claim: claim),
            content: content.map { Data($0.utf8) })
    }

    private static let key = ClusterKey.value(.streamKey, application: "app", name: "studio")

    private static func notification(_ id: String, _ number: Int64, at node: String) -> ClusterNotification {
        ClusterNotification(id: id, owner: node, origin: node, number: number, content: Data(id.utf8))
    }

    private static func own(_ cluster: TestCluster, _ index: Int) -> [String]? {
        cluster.members[index].member.ownNotifications?.map(\.id)
    }

    @Test("a value of one node is reported to the others once, and the highest version replaces the others")
    func values() {
        var cluster = TestCluster(["a", "b", "c"])
        cluster.members[0].member.announce(Self.value(1, "one"))
        cluster.settle()
        #expect(cluster.members[0].member.takeChangedValues() == [])
        #expect(cluster.members[1].member.takeChangedValues() == [Self.value(1, "one")])
        #expect(cluster.members[1].member.takeChangedValues() == [])
        #expect(cluster.members[1].events.filter { $0 == .valuesChanged }.count == 1)
        cluster.members[1].member.announce(Self.value(3, nil))
        cluster.settle()
        cluster.members[0].member.announce(Self.value(2, "two"))
        cluster.settle()
        #expect(cluster.members[0].member.takeChangedValues() == [Self.value(3, nil)])
        // The third node receives the newest one only.
        #expect(cluster.members[2].member.takeChangedValues() == [Self.value(3, nil)])
        #expect(cluster.values.values[Self.key]?.record == .value(Self.value(3, nil)))
        #expect(cluster.members.allSatisfy { $0.member.lowestVersion >= 3 })
    }

    @Test("values that nodes change without the directory converge to the highest version")
    func partition() {
        var cluster = TestCluster(["a", "b"])
        for index in cluster.members.indices { cluster.members[index].disconnect() }
        cluster.members[0].member.announce(Self.value(5, "a", claim: 1))
        cluster.members[1].member.announce(Self.value(5, "b", claim: 2))
        for index in cluster.members.indices { cluster.members[index].connect(cluster.values) }
        cluster.settle()
        cluster.advance(.seconds(5))
        #expect(cluster.members[0].member.takeChangedValues() == [Self.value(5, "b", claim: 2)])
        #expect(cluster.members[1].member.takeChangedValues() == [])
        #expect(cluster.values.values[Self.key]?.record == .value(Self.value(5, "b", claim: 2)))
    }

    @Test(
        "a directory that has lost values, or has older ones again, gets the newest ones of any node",
        arguments: [true, false])
    func lost(isEmpty: Bool) {
        var cluster = TestCluster(["a", "b"])
        cluster.members[0].member.announce(Self.value(1, "one"))
        cluster.settle()
        let older = isEmpty ? DirectoryValues() : cluster.values
        cluster.members[0].member.announce(Self.value(2, "two"))
        cluster.settle()
        _ = cluster.members[1].member.takeChangedValues()
        cluster.values = older
        // The node that wrote the value is gone.
        cluster.members[0].disconnect()
        cluster.members[1].disconnect()
        cluster.members[1].connect(cluster.values)
        cluster.settle()
        #expect(cluster.values.values[Self.key]?.record == .value(Self.value(2, "two")))
        #expect(cluster.members[1].member.takeChangedValues() == [])
    }

    @Test("the notifications of a lost node belong to one other node, in their order, when the lease has expired")
    func takeover() {
        var cluster = TestCluster(["a", "b", "c"])
        for (number, id) in ["z", "y", "x"].enumerated() {
            cluster.members[2].member.announce(Self.notification(id, Int64(number), at: "c"))
        }
        cluster.settle()
        #expect(Self.own(cluster, 2) == ["z", "y", "x"])
        cluster.members[2].disconnect()
        cluster.advance(.seconds(4), stopped: [2])
        #expect(Self.own(cluster, 0) == [])
        cluster.advance(.seconds(10), stopped: [2])
        #expect(Self.own(cluster, 0) == ["z", "y", "x"])
        #expect(Self.own(cluster, 1) == [])
        cluster.members[0].member.withdrawNotification("z")
        cluster.settle()
        #expect(Self.own(cluster, 0) == ["y", "x"])
        // The second node gets what the first one has not delivered.
        cluster.members[0].disconnect()
        cluster.advance(.seconds(20), stopped: [0, 2])
        #expect(Self.own(cluster, 1) == ["y", "x"])
        for id in ["y", "x"] { cluster.members[1].member.withdrawNotification(id) }
        cluster.settle()
        #expect(Self.own(cluster, 1) == [])
        #expect(!cluster.values.values.keys.contains { if case .notification = $0 { true } else { false } })
    }

    @Test("the notifications of a node that stops belong to another one at once")
    func stopping() {
        var cluster = TestCluster(["a", "b"])
        cluster.members[1].member.announce(Self.notification("one", 1, at: "b"))
        cluster.settle()
        cluster.members[1].member.leave()
        cluster.settle()
        #expect(cluster.members[1].member.hasLeft)
        #expect(Self.own(cluster, 0) == ["one"])
    }

    @Test("a node that returns finds that another one delivers its notifications, and delivers those that nobody has")
    func returning() {
        var cluster = TestCluster(["a", "b"])
        cluster.members[1].member.announce(Self.notification("one", 1, at: "b"))
        cluster.settle()
        cluster.members[1].disconnect()
        cluster.advance(.seconds(20), stopped: [1])
        #expect(Self.own(cluster, 0) == ["one"])
        cluster.members[1].connect(cluster.values)
        cluster.advance(.seconds(5))
        #expect(cluster.members[1].member.isTakenOver("one") == true)
        cluster.members[1].member.announce(Self.notification("one", 1, at: "b"))
        cluster.members[1].member.announce(Self.notification("two", 2, at: "b"))
        cluster.settle()
        #expect(Self.own(cluster, 0) == ["one"])
        #expect(Self.own(cluster, 1) == ["two"])
        #expect(cluster.members[1].member.isTakenOver("two") == false)
    }

    @Test("while a node takes over notifications, or has no directory, it does not know which ones precede")
    func unknownOrder() {
        var cluster = TestCluster(["a", "b"])
        cluster.members[1].member.announce(Self.notification("one", 1, at: "b"))
        cluster.settle()
        cluster.members[1].disconnect()
        let step = TimeSpan.milliseconds(250)
        for _ in 0..<40 {
            cluster.members[0].now += step
            cluster.members[0].member.advance(to: cluster.members[0].now)
        }
        #expect(Self.own(cluster, 0) == nil)
        cluster.settle()
        #expect(Self.own(cluster, 0) == ["one"])
        cluster.members[0].disconnect()
        #expect(Self.own(cluster, 0) == nil)
    }

    @Test("contents are encrypted with the secret of the cluster, and belong to their keys")
    func contents() throws {
        let coding = ClusterRecordCoding(secret: "a secret of the cluster")
        let secret = "a key of an encoder"
        let records: [ClusterRecord] = [
            .value(Self.value(7, secret)), .value(Self.value(8, nil)),
            .notification(
                ClusterNotification(id: "n", owner: "a", origin: "a", number: 1, content: Data(secret.utf8))),
        ]
        for record in records {
            let bytes = try #require(coding.encode(record))
            #expect(coding.decode(bytes, record.key) == record)
            #expect(bytes.range(of: Data(secret.utf8)) == nil)
            #expect(bytes.range(of: Data(Data(secret.utf8).base64EncodedString().utf8)) == nil)
            #expect(ClusterRecordCoding(secret: "another secret of it").decode(bytes, record.key) == nil)
            #expect(ClusterKey(text: record.key.text) == record.key)
        }
        let content = String(repeating: "x", count: ClusterValue.maximumSize + 1)
        #expect(coding.encode(.value(Self.value(1, content))) == nil)
        let largest = ClusterNotification(
            id: "n", owner: "a", origin: "a", number: 1, content: Data(count: ClusterNotification.maximumSize))
        #expect(coding.encode(.notification(largest)) != nil)
    }
}
