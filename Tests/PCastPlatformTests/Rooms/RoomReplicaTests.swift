import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlatform

/// A room whose members are connected to several nodes, without connections and on virtual time.
@Suite struct RoomReplicaTests {
    private static let description = NodesSimulation.description

    private static func member(
        _ session: String, _ role: RoomMember.Role = .participant, lastUpdate: UInt64 = 1
    ) -> RoomMember {
        RoomMember(
            session: SessionID(session), screenName: session, role: role, state: .active, streams: [],
            lastUpdate: lastUpdate)
    }

    @Test("after a lost link, members receive the events that lead to the present state") func synchronize() {
        let (a, b, c) = (Self.member("a"), Self.member("b"), Self.member("c"))
        var replica = RoomReplica(Self.description, listed: [a, b])
        replica.setOwn(b)
        let changed = Self.member("b", lastUpdate: 2)
        var renamed = Self.description
        renamed.name = "renamed"
        let events = replica.synchronize(renamed, listed: [changed, c], own: [changed])
        #expect(events == [.roomUpdated(renamed), .left(a), .updated(changed), .joined(c)])
        #expect(replica.listed == [changed, c])
        #expect(replica.own == [changed.session: changed])
        let none = replica.synchronize(renamed, listed: [changed, c], own: [changed])
        #expect(none.isEmpty)
    }

    @Test("a member of another node that enters the audience stays connected") func audience() {
        var replica = RoomReplica(Self.description)
        let presenter = Self.member("a", .presenter)
        replica.setOwn(presenter)
        replica.apply(.joined(presenter))
        let viewer = Self.member("a", .audience, lastUpdate: 2)
        replica.apply(.left(viewer))
        #expect(replica.listed.isEmpty)
        #expect(replica.own == [viewer.session: viewer])
        replica.apply(.left(presenter))
        #expect(replica.own.isEmpty)
    }

    @Test("a room that continues after its home is lost keeps its members for 15 s, and their numbers grow")
    func continuing() throws {
        let time = WallTime(millisecondsSinceEpoch: 1_000)
        var replica = RoomReplica(Self.description, listed: [Self.member("a", lastUpdate: 9_000), Self.member("b")])
        replica.setOwn(Self.member("v", .audience, lastUpdate: 5))
        var room = RoomMachine(continuing: replica, limits: RoomMachine.Limits(), at: Instant(nanoseconds: 0))
        #expect(room.poll() == nil)
        #expect(room.listed == replica.listed)
        #expect(room.memberCount == 3)
        // A member that is announced as it is causes no event, and keeps its number.
        let viewer = try room.rejoin(Self.member("v", .audience, lastUpdate: 5), connection: 1, at: time)
        #expect(viewer.lastUpdate == 5)
        let first = try room.rejoin(Self.member("a", lastUpdate: 9_000), connection: 1, at: time)
        #expect(first == replica.listed.first)
        #expect(room.poll() == nil)
        let next = try room.update(
            first.session, RoomMachine.Change(state: .passive, lastUpdate: 9_000), at: time)
        #expect(next > 9_000)
        let removed = room.advance(to: Instant(nanoseconds: 0) + .seconds(15), time)
        #expect(removed == [SessionID("b")])
    }

    @Test("a node that has received a newer change of a member than the new home announces it") func merge() throws {
        let time = WallTime(millisecondsSinceEpoch: 1_000)
        let old = Self.member("a", lastUpdate: 2_000)
        var room = RoomMachine(
            continuing: RoomReplica(Self.description, listed: [old]), limits: RoomMachine.Limits(),
            at: Instant(nanoseconds: 0))
        var new = Self.member("a", lastUpdate: 3_000)
        new.state = .handRaised
        room.merge(new, at: time)
        #expect(room.poll() == .updated(new))
        // The member itself is connected now, and decides.
        let joined = try room.join(old, connection: 1, at: time)
        #expect(joined.lastUpdate > 3_000)
        #expect(room.poll() == .updated(joined))
        var late = old
        late.lastUpdate = 4_000
        late.state = .offline
        room.merge(late, at: time)
        let merged = try #require(room.member(old.session))
        #expect(merged.state == joined.state)
        #expect(merged.lastUpdate > 4_000)
        room.merge(Self.member("unknown", lastUpdate: 9_000), at: time)
        #expect(room.memberCount == 1)
    }

    @Test("members at all nodes receive the same events in the same order, and their own before the response")
    func order() {
        var simulation = NodesSimulation(seed: 7)
        simulation.joinAll()
        for _ in 0..<2_000 { simulation.change() }
        simulation.drain()
        #expect(simulation.fault == nil)
        let logs = simulation.logs
        #expect((logs.first?.count ?? 0) > 300)
        for log in logs { #expect(log == logs.first) }
    }

    @Test("lost links, lost connections and a lost home: all nodes and members know the same")
    func convergence() {
        var faults: [NodesSimulation.Fault: Int] = [:]
        for seed in 0..<400 {
            var simulation = NodesSimulation(seed: UInt64(seed))
            simulation.run()
            if let fault = simulation.fault {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            faults.merge(simulation.faults, uniquingKeysWith: +)
        }
        // Each kind of fault happened often enough for the result to have a meaning.
        for fault in NodesSimulation.Fault.allCases { #expect(faults[fault, default: 0] > 400, "\(fault)") }
    }
}

/// Three nodes with clients. One node is the home of the room, and the others have links to it.
private struct NodesSimulation {
    enum Fault: CaseIterable {
        case lostLink, lostHome, lostConnection
    }

    private enum Up {
        case announce(own: [RoomMember], listed: [RoomMember])
        case join(RoomMember, request: Int)
        case update(SessionID, RoomMachine.Change)
        case leave(SessionID)
        case lost(SessionID)
    }

    private enum Down {
        case state(RoomDescription, listed: [RoomMember], own: [RoomMember])
        case event(RoomMachine.Event)
        case joined(RoomMember, listed: [RoomMember], request: Int)
        case updated(RoomMember)
        case refused(SessionID)
        case left(SessionID)
    }

    private struct Node {
        /// The room; nil at the home, and before the first link.
        var replica: RoomReplica?
        /// The number of the link to the home; nil while there is none.
        var link: Int?
        /// Whether the home has answered on the link.
        var isAttached = false
        var up: [Up] = []
        var down: [Down] = []
    }

    private struct Client {
        var own: RoomMember
        var node: Int
        var isInRoom = false
        /// The number of its request to join that has no response yet; nil for none.
        var joining: Int?
        /// Whether it waits for the response to its request to leave.
        var isLeaving = false
        var known: [SessionID: RoomMember] = [:]
        var log: [RoomMachine.Event] = []
    }

    static let description = RoomDescription(
        id: "local#first#demo.x", application: ApplicationID("first"), alias: "demo", name: "demo", text: "",
        kind: .channel, options: [])

    private(set) var faults: [Fault: Int] = [:]
    private(set) var fault: String?
    private var random: SeededGenerator
    private var nodes = [Node(), Node(), Node()]
    private var clients: [Client]
    private var home = 0
    private var room = RoomMachine(description)
    private var nextLink = 1
    private var nextRequest = 0
    /// The connection of the members at the home itself.
    private var ownLink = 1
    /// The nodes to which the home sends events, by their links.
    private var open: [Int: Int] = [:]
    /// The connections of the members at the home.
    private var connections: [SessionID: Int] = [:]
    /// The lost links that the home has not noticed yet.
    private var lateEnds: [Int] = []
    private var now = Instant(nanoseconds: 0)

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        clients = (0..<6).map { number in
            Client(
                own: RoomMember(
                    session: SessionID("session-\(number)"), screenName: "\(number)", role: .audience,
                    state: .passive, streams: []),
                node: number % 3)
        }
    }

    private var time: WallTime { WallTime(millisecondsSinceEpoch: 1_700_000_000_000 + now.nanoseconds / 1_000_000) }

    /// The events of each client.
    var logs: [[RoomMachine.Event]] { clients.map(\.log) }

    // MARK: Runs

    mutating func run() {
        for _ in 0..<200 where fault == nil { step() }
        if fault == nil { settle() }
    }

    /// Lets all clients enter the room.
    mutating func joinAll() {
        attachAll()
        drain()
        for index in clients.indices { join(index) }
        drain()
    }

    /// Changes a client at random, and delivers some messages.
    mutating func change() {
        now += .milliseconds(Int64(random.next(below: 50)))
        update(random.next(below: clients.count))
        deliver()
    }

    /// Delivers all messages.
    mutating func drain() {
        while fault == nil, nodes.contains(where: { !$0.up.isEmpty || !$0.down.isEmpty }) {
            for index in nodes.indices {
                while !nodes[index].up.isEmpty { serve(index) }
                while !nodes[index].down.isEmpty { receive(index) }
            }
        }
    }

    private mutating func step() {
        now += .milliseconds(Int64(random.next(below: 1_500)))
        let client = random.next(below: clients.count)
        switch random.next(below: 16) {
        case 0: loseLink(random.next(below: nodes.count))
        case 1: if random.happens(0.3) { loseHome() }
        case 2: loseConnection(client)
        case 3: leave(client)
        case 4, 5: attach(random.next(below: nodes.count))
        case 6, 7, 8: join(client)
        case 9: noticeEnd()
        default: update(client)
        }
        deliver()
        advance()
    }

    private mutating func deliver() {
        for _ in 0..<3 {
            let index = random.next(below: nodes.count)
            if random.happens(0.5) { serve(index) } else { receive(index) }
        }
    }

    /// Connects everything, after which all nodes and clients must know the same.
    private mutating func settle() {
        for _ in 0..<40 {
            attachAll()
            while !lateEnds.isEmpty { noticeEnd() }
            for index in clients.indices { join(index) }
            drain()
            now += .seconds(1)
            advance()
        }
        drain()
        guard fault == nil else { return }
        let listed = room.listed
        if room.memberCount != clients.count { fault = "the room has \(room.memberCount) members" }
        for (index, client) in clients.enumerated() {
            if !client.isInRoom { fault = "client \(index) is not in the room" }
            if client.known != Dictionary(uniqueKeysWithValues: listed.map { ($0.session, $0) }) {
                fault = "client \(index) knows \(client.known) instead of \(listed)"
            }
        }
        for (index, node) in nodes.enumerated() where index != home {
            let known = node.replica?.listed.sorted { $0.session.description < $1.session.description }
            if known != listed.sorted(by: { $0.session.description < $1.session.description }) {
                fault = "node \(index) knows \(known ?? []) instead of \(listed)"
            }
        }
    }

    private mutating func advance() {
        for session in room.advance(to: now, time) { connections[session] = nil }
        broadcast()
    }

    // MARK: Clients

    private func client(_ session: SessionID) -> Int? { clients.firstIndex { $0.own.session == session } }

    private mutating func join(_ index: Int) {
        guard !clients[index].isInRoom, clients[index].joining == nil else { return }
        let (node, own) = (clients[index].node, clients[index].own)
        guard node == home else {
            guard nodes[node].isAttached else { return }
            nextRequest += 1
            clients[index].joining = nextRequest
            nodes[node].up.append(.join(own, request: nextRequest))
            return
        }
        do throws(RoomRefusal) {
            let member = try room.join(own, connection: ownLink, at: time)
            connections[own.session] = ownLink
            entered(index, member, room.listed)
            broadcast()
        } catch {
            fault = "a member was refused: \(error)"
        }
    }

    private mutating func entered(_ index: Int, _ member: RoomMember, _ listed: [RoomMember]) {
        (clients[index].isInRoom, clients[index].joining, clients[index].own) = (true, nil, member)
        clients[index].known = Dictionary(uniqueKeysWithValues: listed.map { ($0.session, $0) })
    }

    private mutating func outside(_ index: Int) {
        (clients[index].isInRoom, clients[index].isLeaving) = (false, false)
        (clients[index].joining, clients[index].known) = (nil, [:])
    }

    private mutating func update(_ index: Int) {
        guard clients[index].isInRoom, !clients[index].isLeaving else { return }
        let (own, node) = (clients[index].own, clients[index].node)
        let change = RoomMachine.Change(
            role: random.happens(0.3) ? .audience : .presenter,
            state: random.happens(0.5) ? .active : .passive, lastUpdate: own.lastUpdate)
        if node == home {
            _ = try? room.update(own.session, change, at: time)
            broadcast()
            if let member = room.member(own.session) { clients[index].own = member }
        } else if nodes[node].isAttached {
            nodes[node].up.append(.update(own.session, change))
        }
    }

    private mutating func leave(_ index: Int) {
        guard clients[index].isInRoom, !clients[index].isLeaving else { return }
        let (session, node) = (clients[index].own.session, clients[index].node)
        if node == home {
            room.leave(session, at: time)
            connections[session] = nil
            broadcast()
            outside(index)
        } else if nodes[node].isAttached {
            clients[index].isLeaving = true
            // It is not announced again if the link is lost.
            nodes[node].replica?.removeOwn(session)
            nodes[node].up.append(.leave(session))
        }
    }

    /// Breaks the connection of a client, which connects to any node afterwards.
    private mutating func loseConnection(_ index: Int) {
        faults[.lostConnection, default: 0] += 1
        let (session, node) = (clients[index].own.session, clients[index].node)
        if node == home {
            connectionLost(session, ownLink)
        } else {
            nodes[node].replica?.removeOwn(session)
            if nodes[node].link != nil { nodes[node].up.append(.lost(session)) }
        }
        outside(index)
        clients[index].node = random.next(below: nodes.count)
    }

    private mutating func apply(_ event: RoomMachine.Event, to index: Int) {
        clients[index].log.append(event)
        switch event {
        case .joined(let member), .updated(let member):
            if let known = clients[index].known[member.session], member.lastUpdate < known.lastUpdate {
                fault = "an event is older than the one before: \(member) after \(known)"
            }
            clients[index].known[member.session] = member
            if member.session == clients[index].own.session { clients[index].own = member }
        case .left(let member):
            clients[index].known[member.session] = nil
            if member.session == clients[index].own.session, !member.isListed { clients[index].own = member }
        case .roomUpdated, .ended: break
        }
    }

    // MARK: Links

    private mutating func attachAll() {
        for index in nodes.indices { attach(index) }
    }

    private mutating func attach(_ index: Int) {
        guard index != home, nodes[index].link == nil else { return }
        nextLink += 1
        nodes[index].link = nextLink
        let replica = nodes[index].replica
        let own = replica.map { Array($0.own.values) } ?? []
        nodes[index].up = [
            .announce(
                own: own.sorted { $0.session.description < $1.session.description }, listed: replica?.listed ?? [])
        ]
    }

    private mutating func loseLink(_ index: Int) {
        guard index != home, let link = nodes[index].link else { return }
        faults[.lostLink, default: 0] += 1
        detach(index)
        lateEnds.append(link)
    }

    private mutating func detach(_ index: Int) {
        (nodes[index].link, nodes[index].isAttached) = (nil, false)
        (nodes[index].up, nodes[index].down) = ([], [])
        for client in clients.indices where clients[client].node == index {
            clients[client].joining = nil
            if clients[client].isLeaving { outside(client) }
        }
    }

    private mutating func noticeEnd() {
        guard !lateEnds.isEmpty else { return }
        let link = lateEnds.removeFirst()
        open[link] = nil
        for client in clients { connectionLost(client.own.session, link) }
    }

    private mutating func connectionLost(_ session: SessionID, _ link: Int) {
        guard !room.connectionLost(session, connection: link, at: now) else { return }
        connections[session] = room.connection(of: session)
    }

    /// Removes the home with all its state. Another node that knows the room continues it.
    private mutating func loseHome() {
        guard let next = nodes.indices.first(where: { $0 != home && nodes[$0].replica != nil }),
            let replica = nodes[next].replica
        else { return }
        faults[.lostHome, default: 0] += 1
        for index in nodes.indices { detach(index) }
        (open, lateEnds, connections) = ([:], [], [:])
        for index in clients.indices where clients[index].node == home {
            outside(index)
            clients[index].node = random.next(below: nodes.count)
        }
        home = next
        nodes[next].replica = nil
        nextLink += 1
        ownLink = nextLink
        room = RoomMachine(continuing: replica, limits: RoomMachine.Limits(), at: now)
        for member in replica.own.values.sorted(by: { $0.session.description < $1.session.description }) {
            guard let client = client(member.session), clients[client].node == home, clients[client].isInRoom else {
                continue
            }
            if (try? room.rejoin(member, connection: ownLink, at: time)) != nil {
                connections[member.session] = ownLink
            }
        }
        broadcast()
    }

    // MARK: Home

    /// Sends the events to all nodes, and to the clients of this one.
    private mutating func broadcast() {
        while let event = room.poll() {
            for (link, index) in open where nodes[index].link == link { nodes[index].down.append(.event(event)) }
            for index in clients.indices where clients[index].node == home && clients[index].isInRoom {
                apply(event, to: index)
            }
        }
    }

    private mutating func serve(_ index: Int) {
        guard let link = nodes[index].link, !nodes[index].up.isEmpty else { return }
        var answer: Down?
        switch nodes[index].up.removeFirst() {
        case .announce(let own, let listed):
            var accepted: [RoomMember] = []
            for member in own {
                guard let joined = try? room.rejoin(member, connection: link, at: time) else { continue }
                connections[member.session] = link
                accepted.append(joined)
            }
            for member in listed { room.merge(member, at: time) }
            broadcast()
            accepted = accepted.compactMap { room.member($0.session) }
            open[link] = index
            answer = .state(room.description, listed: room.listed, own: accepted)
        case .join(let member, let request):
            do throws(RoomRefusal) {
                let joined = try room.join(member, connection: link, at: time)
                connections[member.session] = link
                // The response has the list, and the event follows it.
                nodes[index].down.append(.joined(joined, listed: room.listed, request: request))
            } catch {
                answer = .refused(member.session)
            }
        case .update(let session, let change):
            guard connections[session] == link, (try? room.update(session, change, at: time)) != nil,
                let member = room.member(session)
            else { break }
            answer = .updated(member)
        case .leave(let session):
            if connections[session] == link {
                room.leave(session, at: time)
                connections[session] = nil
            } else {
                connectionLost(session, link)
            }
            answer = .left(session)
        case .lost(let session): connectionLost(session, link)
        }
        broadcast()
        if let answer { nodes[index].down.append(answer) }
    }

    // MARK: Other nodes

    private mutating func receive(_ index: Int) {
        guard !nodes[index].down.isEmpty else { return }
        switch nodes[index].down.removeFirst() {
        case .state(let description, let listed, let own):
            nodes[index].isAttached = true
            guard nodes[index].replica != nil else {
                nodes[index].replica = RoomReplica(description, listed: listed)
                return
            }
            // Members may have left while the home has answered.
            let present = own.filter { nodes[index].replica?.own[$0.session] != nil }
            let events = nodes[index].replica?.synchronize(description, listed: listed, own: present) ?? []
            for event in events { apply(event, at: index) }
        case .event(let event):
            nodes[index].replica?.apply(event)
            apply(event, at: index)
        case .joined(let member, let listed, let request):
            // The end of the client's connection follows its request.
            guard let client = client(member.session), clients[client].node == index,
                clients[client].joining == request
            else { return }
            nodes[index].replica?.setOwn(member)
            entered(client, member, listed)
        case .updated(let member):
            guard nodes[index].replica?.own[member.session] != nil, let client = client(member.session) else { return }
            nodes[index].replica?.setOwn(member)
            if member.isListed, (clients[client].known[member.session]?.lastUpdate ?? 0) < member.lastUpdate {
                fault = "a response precedes its event"
            }
            clients[client].own = member
        case .refused(let session):
            if let client = client(session), clients[client].node == index { clients[client].joining = nil }
        case .left(let session):
            if let client = client(session), clients[client].node == index, clients[client].isLeaving {
                outside(client)
            }
        }
    }

    private mutating func apply(_ event: RoomMachine.Event, at node: Int) {
        for index in clients.indices where clients[index].node == node && clients[index].isInRoom {
            apply(event, to: index)
        }
    }
}
