import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWeb
import Synchronization
import Testing

@testable import PCastPlatform

/// Rooms whose members are connected to two platforms of a cluster.
@Suite("Rooms of a cluster") struct ClusterRoomTests {
    private static let key = RoomKey(TestPlatform.application.id, alias: "demo")

    private static let secret = "a secret of the cluster"

    /// Runs two platforms that share a directory in memory.
    private static func run(
        configure: @escaping (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (_ first: TestPlatform, _ second: TestPlatform) async throws -> Void
    ) async throws {
        let store = MemoryDirectoryStore()
        let join = { (name: String, configuration: inout PlatformConfiguration) in
            configuration.cluster = ClusterConfiguration(servers: [], node: name, secret: secret)
            configuration.clusterDirectory = store.attach()
            configure(&configuration)
        }
        try await TestPlatform.runConfigured(configure: { join("a", &$0) }) { first in
            try await TestPlatform.runConfigured(configure: { join("b", &$0) }) { second in
                let isConnected = try await eventually {
                    let clusters = [try Self.cluster(of: first), try Self.cluster(of: second)]
                    return clusters.allSatisfy { cluster in
                        cluster.nodes.count == 2 && cluster.nodes.allSatisfy { !$0.address.isEmpty }
                    }
                }
                try #require(isConnected)
                try await body(first, second)
            }
        }
    }

    private static func cluster(of platform: TestPlatform) throws -> Cluster {
        let components = try #require(platform.platform.host.components.value)
        return try #require(components.cluster).cluster
    }

    private static func isHome(_ platform: TestPlatform) async throws -> Bool {
        let components = try #require(platform.platform.host.components.value)
        return await components.rooms.isHome(of: key)
    }

    /// Returns the member as a client received it last.
    private static func lastUpdate(_ session: String, _ client: ProtocolClient) async -> UInt64? {
        await client.roomEvents.last { $0.event.sessionID == session }?.event.members.first?.lastUpdate
    }

    @Test("members at both nodes receive the same events and messages in the same order, and their own first")
    func order() async throws {
        try await Self.run { first, second in
            try await ProtocolClient.run(first) { one in
                let ownSession = try #require(try await one.authenticate())
                let joined = try await one.join("demo", role: .participant, screenName: "one")
                #expect(joined.status == "ok")
                let room = joined.room.roomID
                #expect(try await Self.isHome(first))
                #expect(try await one.fetch(room, limit: 10, subscribes: true).status == "ok")
                try await ProtocolClient.run(second) { two in
                    let session = try #require(try await two.authenticate())
                    let other = try await two.join("demo", role: .participant, screenName: "two")
                    #expect(other.status == "ok")
                    #expect(other.room == joined.room)
                    #expect(Set(other.members.map(\.sessionID)) == [ownSession, session])
                    #expect(try await Self.isHome(second) == false)
                    #expect(try await two.fetch(room, limit: 10, subscribes: true).status == "ok")
                    // The event about a member follows the response that has it, as at the home.
                    #expect(try await two.event(1)?.members.map(\.sessionID) == [session])
                    #expect(await two.roomEvents.first?.answers == 2)

                    var known = (one: joined.self_p.lastUpdate, two: other.self_p.lastUpdate)
                    for round in 0..<8 {
                        let role: ChatMemberRole = round.isMultiple(of: 2) ? .presenter : .participant
                        // Both change at the same time.
                        let requests = try await (
                            one.send(Rooms.update(ownSession, in: room, role: role, lastUpdate: known.one)),
                            two.send(Rooms.update(session, in: room, role: role, lastUpdate: known.two))
                        )
                        let first = try await one.updateAnswer(try #require(requests.0.first))
                        let number = try #require(requests.1.first)
                        let second = try await two.updateAnswer(number)
                        #expect(first.status == "ok")
                        #expect(second.status == "ok")
                        known = (first.lastUpdate, second.lastUpdate)
                        // The event about the own change precedes the response.
                        let position = try #require(await two.answered.firstIndex(of: number))
                        let event = await two.roomEvents.first {
                            $0.event.members.first?.lastUpdate == second.lastUpdate
                        }
                        let change = try #require(event)
                        #expect(change.answers <= position)
                        if round < 4 {
                            #expect(try await one.say("one \(round)", in: room) == "ok")
                            #expect(try await two.say("two \(round)", in: room) == "ok")
                        }
                    }
                    let stale = try await two.update(
                        Rooms.update(session, in: room, role: .audience, lastUpdate: 1))
                    #expect(stale.status == "conflict")
                    #expect(stale.lastUpdate == known.two)

                    // Two joins and 16 changes; the second client does not see the join of the first one.
                    #expect(try await one.event(18) != nil)
                    #expect(try await two.event(17) != nil)
                    let events = await (one.roomEvents.map(\.event), two.roomEvents.map(\.event))
                    #expect(Array(events.0.dropFirst()) == events.1)
                    let hasAll = try await eventually {
                        let counts = await (one.roomMessages.count, two.roomMessages.count)
                        return counts.0 == 8 && counts.1 == 8
                    }
                    #expect(hasAll)
                    let messages = await (one.roomMessages.map(\.message), two.roomMessages.map(\.message))
                    #expect(messages.0 == messages.1)

                    #expect(try await two.leaveRoom(room) == "ok")
                    #expect(await two.roomEvents.last?.event.eventType == .memberLeft)
                    #expect(try await one.event(19)?.sessionID == session)
                    #expect(try await two.leaveRoom(room) == "not-found")
                }
                await one.close()
            }
        }
    }

    @Test("a lost connection at another node is no event if the client returns, and a closed one is a leave")
    func connections() async throws {
        try await Self.run { first, second in
            try await ProtocolClient.run(first) { observer in
                _ = try await observer.authenticate()
                let room = try await observer.join("demo").room.roomID
                // The end of a client whose connection was cut is an error.
                let isComplete = Mutex(false)
                try? await ProtocolClient.run(second) { former in
                    let session = try #require(try await former.authenticate())
                    _ = try await former.join("demo", role: .participant)
                    await former.cut()
                    try await ProtocolClient.run(second) { client in
                        #expect(try await client.authenticate(session: session) == session)
                        let joined = try await client.join(
                            "demo", id: room, role: .participant, options: ["reenter"])
                        #expect(joined.status == "ok")
                        #expect(try await observer.info("demo").members.map(\.sessionID) == [session])
                        #expect(await observer.roomEvents.count == 1)
                        await client.close()
                    }
                    isComplete.withLock { $0 = true }
                }
                let hasEnded = isComplete.withLock { $0 }
                #expect(hasEnded)
                #expect(try await observer.event(2)?.eventType == .memberLeft)
                #expect(await observer.roomEvents.count == 2)
                // Viewers at the other node are only counted.
                try await ProtocolClient.run(second) { viewer in
                    _ = try await viewer.authenticate()
                    #expect(try await viewer.join("demo").members.isEmpty)
                    #expect(try await observer.info("demo").options == ["audience=2"])
                    #expect(try await viewer.info("demo").options == ["audience=2"])
                }
                #expect(await observer.roomEvents.count == 2)
            }
        }
    }

    @Test("a presenter of another node announces its stream, and its end is an event for all")
    func streams() async throws {
        try await Self.run(configure: { $0.rooms.memberTimeout = .milliseconds(200) }) { first, second in
            try await ProtocolClient.run(first) { viewer in
                let own = try #require(try await viewer.authenticate())
                let joined = try await viewer.join("demo")
                try await ProtocolClient.run(second) { publisher in
                    let session = try #require(try await publisher.authenticate())
                    let member = try await publisher.join("demo")
                    let room = member.room.roomID
                    let stream = try #require(try await publisher.setUp(try Requests.publish()))
                    let published = try await publisher.update(
                        Rooms.update(
                            session, in: room, role: .presenter, streams: [Rooms.stream(stream)],
                            lastUpdate: member.self_p.lastUpdate))
                    #expect(published.status == "ok")
                    #expect(try await viewer.event(1)?.members.first?.streams == [Rooms.stream(stream)])
                    // Viewers of the channel's name at the presenter's node receive its stream.
                    let isViewed = try await eventually {
                        try await second.post("/whep/demo", try Offers.viewer()).status == 201
                    }
                    #expect(isViewed)
                    // Those at another node pull it, as soon as the directory has the stream.
                    let isPulled = try await eventually {
                        try await first.post("/whep/demo", try Offers.viewer()).status == 201
                    }
                    #expect(isPulled)
                    // The stream of another session is none of the viewer.
                    let foreign = try await viewer.update(
                        Rooms.update(
                            own, in: room, role: .presenter, streams: [Rooms.stream(stream)],
                            lastUpdate: joined.self_p.lastUpdate))
                    #expect(foreign.status == "unauthorized")
                    #expect(try await publisher.ask(Requests.destroy(stream, reason: "ended")) == .ok)
                    let changed = try #require(try await viewer.event(2))
                    #expect(changed.eventType == .memberUpdated)
                    #expect(changed.members.first?.streams.isEmpty == true)
                }
            }
        }
    }

    @Test("a room continues at another node when its home has stopped, with its members and its conversation")
    func homeStops() async throws {
        try await Self.run(configure: { $0.rooms.memberTimeout = .milliseconds(500) }) { first, second in
            try await ProtocolClient.run(second) { member in
                let session = try #require(try await member.authenticate())
                // The end of a client whose platform has stopped is an error.
                let isComplete = Mutex(false)
                try? await ProtocolClient.run(first) { former in
                    let formerSession = try #require(try await former.authenticate())
                    let room = try await former.join("demo", role: .presenter, screenName: "former").room
                    let joined = try await member.join("demo", role: .participant, screenName: "member")
                    #expect(joined.room == room)
                    #expect(try await member.fetch(room.roomID, limit: 10, subscribes: true).status == "ok")
                    #expect(try await former.say("before", in: room.roomID) == "ok")
                    #expect(try await eventually { await member.roomMessages.map(\.message.message) == ["before"] })
                    #expect(try await Self.isHome(first))
                    first.end()
                    await first.isOver()
                    #expect(try await eventually { try await Self.isHome(second) })

                    // The member of the stopped node leaves in time, and that of the other node stays.
                    let hasLeft = try await eventually {
                        await member.roomEvents.contains {
                            $0.event.eventType == .memberLeft && $0.event.sessionID == formerSession
                        }
                    }
                    #expect(hasLeft)
                    let known = try #require(await Self.lastUpdate(session, member))
                    let changed = try await member.update(
                        Rooms.update(session, in: room.roomID, role: .presenter, lastUpdate: known))
                    #expect(changed.status == "ok")
                    #expect(changed.lastUpdate > known)
                    let history = try await member.fetch(room.roomID, limit: 10)
                    #expect(history.chatMessages.map(\.message) == ["before"])
                    #expect(try await member.say("after", in: room.roomID) == "ok")
                    let hasBoth = try await eventually {
                        await member.roomMessages.map(\.message.message) == ["before", "after"]
                    }
                    #expect(hasBoth)
                    try await ProtocolClient.run(second) { late in
                        _ = try await late.authenticate()
                        let found = try await late.join("demo", id: room.roomID, options: ["reenter"])
                        #expect(found.room == room)
                        #expect(found.members.map(\.sessionID) == [session])
                    }
                    isComplete.withLock { $0 = true }
                }
                let hasEnded = isComplete.withLock { $0 }
                #expect(hasEnded)
                #expect(try await member.info("demo").members.map(\.sessionID) == [session])
            }
        }
    }

    @Test("a room of a backend is found at both nodes, and not created twice") func created() async throws {
        try await Self.run(configure: { $0.rooms.createsOnJoin = false }) { first, second in
            let body = #"{"channel":{"alias":"demo"}}"#
            #expect(try await first.ask("PUT", "/pcast/channel", body).status == 200)
            let homes = RoomHomes(cluster: try Self.cluster(of: second))
            #expect(try await eventually { homes.other(Self.key) != nil })
            #expect(try await second.ask("PUT", "/pcast/channel", body).status == 409)
            try await ProtocolClient.run(second) { client in
                _ = try await client.authenticate()
                let joined = try await client.join("demo", role: .participant)
                #expect(joined.status == "ok")
                let members = try await first.ask("GET", "/pcast/channel/demo/members").body
                #expect(members.contains(joined.self_p.sessionID))
                #expect(try await client.join("unknown").status == "not-found")
                #expect(try await first.ask("DELETE", "/pcast/channel/demo").status == 200)
                #expect(try await client.event(3)?.eventType == .roomEnded)
            }
            #expect(try await eventually { homes.other(Self.key) == nil })
        }
    }

    // MARK: Links

    /// Returns whether a node answers a request that opens a link.
    private static func accepts(
        _ fields: [(name: String, value: String)], _ platform: TestPlatform
    ) async -> Bool {
        let isAnswered = Mutex(false)
        // A node that refuses the request closes the connection.
        try? await WebSocketClient().connect(to: platform.uri + RoomLinkTransport.path, headers: fields) { connection in
            try await connection.forEachMessage { _ in
                isAnswered.withLock { $0 = true }
                throw RoomLinkError()
            }
        }
        return isAnswered.withLock { $0 }
    }

    @Test("a link is opened by a node with the secret only, and its request is not accepted again")
    func links() async throws {
        try await Self.run { first, _ in
            let signer = try #require(NodeSignature(secret: Self.secret))
            let other = try #require(NodeSignature(secret: "the secret of others"))
            #expect(await !Self.accepts([], first))
            let unsigned = RoomLinkTransport.fields(RandomIdentifier.make(), by: other)
            #expect(await !Self.accepts(unsigned, first))
            let fields = RoomLinkTransport.fields(RandomIdentifier.make(), by: signer)
            #expect(await !Self.accepts(Array(fields.prefix(1)), first))
            #expect(await Self.accepts(fields, first))
            #expect(await !Self.accepts(fields, first))
        }
    }

    @Test("a member that its node does not announce any more has no connection, and leaves in time")
    func unannounced() async throws {
        try await Self.run(configure: { $0.rooms.memberTimeout = .milliseconds(200) }) { first, _ in
            let components = try #require(first.platform.host.components.value)
            try await ProtocolClient.run(first) { observer in
                _ = try await observer.authenticate()
                #expect(try await observer.join("demo").status == "ok")
                let members = ["stays", "leaves"].map { name in
                    RoomMember(
                        session: SessionID(name), screenName: name, role: .participant, state: .active, streams: [],
                        lastUpdate: 1)
                }
                let node = RoomConnection(forward: { _ in })
                let queue = RoomLinkQueue<RoomLinkEvent>()
                await components.rooms.announce(Self.key, own: members, listed: [], by: node, queue)
                #expect(try await observer.event(2)?.eventType == .memberJoined)
                await components.rooms.announce(Self.key, own: [members[0]], listed: [], by: node, queue)
                let left = try #require(try await observer.event(3))
                #expect(left.eventType == .memberLeft)
                #expect(left.sessionID == "leaves")
                #expect(try await observer.info("demo").members.map(\.sessionID) == ["stays"])
            }
        }
    }
}
