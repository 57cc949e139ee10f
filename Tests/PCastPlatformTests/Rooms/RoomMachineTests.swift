import PCastCore
import Testing

@testable import PCastPlatform

/// The members of a room, without clients and on virtual time.
@Suite struct RoomMachineTests {
    private static let time = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)
    private static let channel = RoomDescription(
        id: "local#first#demo.x", application: ApplicationID("first"), alias: "demo", name: "demo", text: "",
        kind: .channel, options: [])

    private static func member(
        _ session: String, _ role: RoomMember.Role = .audience, streams: [String] = []
    ) -> RoomMember {
        RoomMember(
            session: SessionID(session), screenName: session, role: role, state: .passive,
            streams: streams.map { stream($0) })
    }

    private static func stream(_ id: String, audio: RoomStream.TrackState = .enabled) -> RoomStream {
        RoomStream(
            kind: .presentation, uri: "pcast://phenixp2p.com/\(id)?capabilities=hd", audio: audio, video: .enabled)
    }

    private static func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test("viewers of a channel's name get the newest presenter, or the former one with high availability")
    func presenters() throws {
        let orders: [(options: [String], names: [String])] = [
            ([], ["c", "Primary", "the alternate"]),
            ([RoomDescription.highAvailability], ["Primary", "the alternate", "c"]),
        ]
        for (options, expected) in orders {
            var description = Self.channel
            description.options = options
            var room = RoomMachine(description)
            for name in ["the alternate", "Primary", "c"] {
                _ = try room.join(
                    Self.member(name, .presenter, streams: ["stream-\(name.count)"]), connection: 1, at: Self.time)
            }
            _ = try room.join(Self.member("silent", .presenter), connection: 2, at: Self.time)
            _ = try room.join(Self.member("guest", .participant, streams: ["stream-g"]), connection: 3, at: Self.time)
            let ordered = room.presenters(after: nil).map(\.screenName)
            #expect(ordered == expected)
            let former = room.presenters(after: SessionID("c")).map(\.screenName)
            #expect(former.first == "c")
        }
    }

    @Test("a viewer who becomes a presenter joins for all, and leaves when it stops") func presenter() throws {
        var room = RoomMachine(Self.channel)
        let viewer = try room.join(Self.member("viewer"), connection: 1, at: Self.time)
        let publisher = try room.join(Self.member("publisher"), connection: 2, at: Self.time)
        #expect(room.allEvents().isEmpty)
        #expect(room.audienceCount == 2)
        #expect(room.listed.isEmpty)

        let first = try room.update(
            publisher.session,
            RoomMachine.Change(
                role: .presenter, streams: [Self.stream("stream-a")], lastUpdate: publisher.lastUpdate),
            at: Self.time)
        let presenter = try #require(room.member(publisher.session))
        #expect(presenter.lastUpdate == first)
        #expect(room.allEvents() == [.joined(presenter)])
        #expect(room.listed == [presenter])
        #expect(room.audienceCount == 1)

        let second = try room.update(
            publisher.session,
            RoomMachine.Change(streams: [Self.stream("stream-a", audio: .disabled)], lastUpdate: first),
            at: Self.time)
        #expect(second > first)
        #expect(room.allEvents() == [.updated(try #require(room.member(publisher.session)))])

        let third = try room.update(
            publisher.session, RoomMachine.Change(role: .audience, streams: [], lastUpdate: second), at: Self.time)
        #expect(third > second)
        #expect(room.allEvents() == [.left(try #require(room.member(publisher.session)))])
        #expect(room.leave(viewer.session, at: Self.time) == true)
        #expect(room.allEvents().isEmpty)
        #expect(room.memberCount == 1)
    }

    @Test("a change needs the number of the last one, and the conflict tells it") func conflict() throws {
        var room = RoomMachine(Self.channel)
        let joined = try room.join(Self.member("a", .participant), connection: 1, at: Self.time)
        let new = try room.update(
            joined.session, RoomMachine.Change(state: .active, lastUpdate: joined.lastUpdate), at: Self.time)
        #expect(throws: RoomRefusal.conflict(lastUpdate: new)) {
            try room.update(
                joined.session, RoomMachine.Change(state: .handRaised, lastUpdate: joined.lastUpdate), at: Self.time)
        }
        #expect(throws: RoomRefusal.notFound) {
            try room.update(SessionID("b"), RoomMachine.Change(state: .active), at: Self.time)
        }
        // An update without a change is accepted, and has no event.
        _ = room.allEvents()
        let same = try room.update(joined.session, RoomMachine.Change(), at: Self.time)
        #expect(same == new)
        #expect(room.allEvents().isEmpty)
    }

    @Test("numbers grow also while the clock stands still or goes back") func growingNumbers() throws {
        var room = RoomMachine(Self.channel)
        var known = try room.join(Self.member("a", .participant), connection: 1, at: Self.time).lastUpdate
        for round in 0..<20 {
            let next = try room.update(
                SessionID("a"), RoomMachine.Change(screenName: "\(round)", lastUpdate: known),
                at: WallTime(millisecondsSinceEpoch: Self.time.millisecondsSinceEpoch - Int64(round)))
            #expect(next > known)
            known = next
        }
    }

    @Test("a member whose connection breaks stays for 15 s, and may enter again") func absence() throws {
        var room = RoomMachine(Self.channel)
        let member = try room.join(
            Self.member("a", .presenter, streams: ["stream-a"]), connection: 1, at: Self.time)
        _ = room.allEvents()
        #expect(room.connectionLost(member.session, connection: 1, at: Self.at(0)) == true)
        #expect(room.advance(to: Self.at(14), Self.time).isEmpty == true)
        // It enters again as it was: no event.
        let again = try room.join(
            Self.member("a", .presenter, streams: ["stream-a"]), connection: 2, at: Self.time)
        #expect(again == member)
        #expect(room.allEvents().isEmpty)
        // The end of the older connection arrives late.
        #expect(room.connectionLost(member.session, connection: 1, at: Self.at(20)) == false)
        #expect(room.advance(to: Self.at(60), Self.time).isEmpty == true)
        #expect(room.connectionLost(member.session, connection: 2, at: Self.at(60)) == true)
        #expect(room.advance(to: Self.at(75), Self.time) == [member.session])
        guard case .left(let left)? = room.allEvents().first else {
            Issue.record("there is no event")
            return
        }
        #expect(left.lastUpdate > member.lastUpdate)
        #expect(room.memberCount == 0)
    }

    @Test("a stream that ended is announced for 15 s at most") func endedStream() throws {
        var room = RoomMachine(Self.channel)
        let member = try room.join(
            Self.member("a", .presenter, streams: ["stream-a", "stream-b"]), connection: 1, at: Self.time)
        _ = room.allEvents()
        room.streamEnded(StreamID("stream-a"), of: member.session, at: Self.at(0))
        room.streamEnded(StreamID("stream-x"), of: member.session, at: Self.at(0))
        _ = room.advance(to: Self.at(14), Self.time)
        #expect(room.allEvents().isEmpty)
        _ = room.advance(to: Self.at(15), Self.time)
        let changed = try #require(room.member(member.session))
        #expect(changed.streams == [Self.stream("stream-b")])
        #expect(room.allEvents() == [.updated(changed)])
    }

    @Test("full rooms refuse members, and full lists refuse presenters") func capacity() throws {
        var limits = RoomMachine.Limits()
        (limits.members, limits.listed) = (3, 1)
        var room = RoomMachine(Self.channel, limits: limits)
        _ = try room.join(Self.member("a", .presenter), connection: 1, at: Self.time)
        let second = try room.join(Self.member("b"), connection: 2, at: Self.time)
        #expect(throws: RoomRefusal.capacity) {
            try room.join(Self.member("c", .participant), connection: 3, at: Self.time)
        }
        #expect(throws: RoomRefusal.capacity) {
            try room.update(
                second.session, RoomMachine.Change(role: .presenter, lastUpdate: second.lastUpdate), at: Self.time)
        }
        _ = try room.join(Self.member("c"), connection: 3, at: Self.time)
        #expect(throws: RoomRefusal.capacity) {
            try room.join(Self.member("d"), connection: 4, at: Self.time)
        }
    }

    @Test("the end of a room removes all members") func end() throws {
        var room = RoomMachine(Self.channel)
        let member = try room.join(Self.member("a", .presenter), connection: 1, at: Self.time)
        _ = try room.join(Self.member("b"), connection: 2, at: Self.time)
        _ = room.allEvents()
        room.end(at: Self.time)
        let events = room.allEvents()
        #expect(events.count == 2)
        if case .left(let left)? = events.first { #expect(left.session == member.session) }
        #expect(events.last == .ended)
        #expect(room.memberCount == 0)
    }

    @Test(
        "a URI names its stream",
        arguments: [
            ("pcast://phenixp2p.com/stream-a?capabilities=hd", "stream-a"), ("pcast://phenixrts.com/a#b", "a#b"),
            ("pcast://phenixp2p.com/", nil), ("pcast:///stream-a", nil), ("https://phenixp2p.com/stream-a", nil),
            ("stream-a", nil), ("", nil),
        ] as [(String, String?)])
    func streamURI(uri: String, expected: String?) {
        let stream = RoomStream(kind: .user, uri: uri, audio: .enabled, video: .enabled)
        #expect(stream.streamID == expected.map { StreamID($0) })
    }

    @Test("lost connections, stale changes and late requests: all clients know the same members")
    func convergence() {
        var faults: [RoomSimulation.Fault: Int] = [:]
        for seed in 0..<1_000 {
            var simulation = RoomSimulation(seed: UInt64(seed))
            if let fault = simulation.run() {
                Issue.record("seed \(seed): \(fault)")
                return
            }
            faults.merge(simulation.faults, uniquingKeysWith: +)
        }
        // Each kind of fault happened often enough for the result to have a meaning.
        for fault in RoomSimulation.Fault.allCases { #expect(faults[fault, default: 0] > 1_000, "\(fault)") }
    }
}

/// The conversation of a room.
@Suite struct RoomConversationTests {
    private static let author = RoomMember(
        session: SessionID("a"), screenName: "A", role: .participant, state: .active, streams: [])

    private static func conversation(_ count: Int) -> RoomConversation {
        var conversation = RoomConversation(began: WallTime(millisecondsSinceEpoch: 1_700_000_000_000))
        for number in 0..<count {
            _ = conversation.append(
                "\(number)", by: author, at: WallTime(millisecondsSinceEpoch: 1_700_000_000_000 + Int64(number)))
        }
        return conversation
    }

    @Test("pages exclude their bounds and are in ascending order") func pages() {
        let conversation = Self.conversation(100)
        let ids = conversation.messages.map(\.id)
        #expect(ids == ids.sorted())
        #expect(Set(ids.map(\.utf8.count)).count == 1)
        #expect(conversation.page(after: nil, before: nil, limit: 3).map(\.text) == ["97", "98", "99"])
        #expect(conversation.page(after: nil, before: ids[50], limit: 2).map(\.text) == ["48", "49"])
        #expect(conversation.page(after: ids[50], before: nil, limit: 2).map(\.text) == ["51", "52"])
        #expect(conversation.page(after: ids[10], before: ids[14], limit: 0).map(\.text) == ["11", "12", "13"])
        #expect(conversation.page(after: nil, before: nil, limit: 0).isEmpty)
        #expect(conversation.page(after: nil, before: ids[0], limit: 9).isEmpty)
        #expect(conversation.page(after: ids[99], before: nil, limit: 9).isEmpty)
        #expect(conversation.page(after: ids[50], before: ids[40], limit: 9).isEmpty)
        #expect(conversation.page(after: "\u{10FFFF}", before: "", limit: 9).isEmpty)
    }

    @Test("the oldest messages are dropped, and identifiers grow") func bound() {
        let conversation = Self.conversation(RoomConversation.capacity + 10)
        #expect(conversation.messages.count == RoomConversation.capacity)
        #expect(conversation.messages.first?.text == "10")
        #expect(
            conversation.page(after: nil, before: nil, limit: 100_000).count == RoomConversation.capacity)
    }

    @Test("a page has messages that are in the database only") func earlier() {
        let all = Self.conversation(RoomConversation.capacity).messages
        var conversation = RoomConversation(
            began: WallTime(millisecondsSinceEpoch: 1_700_000_001_000), continuing: all)
        #expect(conversation.needsEarlier(after: nil, before: all[1].id, limit: 9) == nil)
        _ = conversation.append("x", by: Self.author, at: WallTime(millisecondsSinceEpoch: 1_700_000_001_000))
        #expect(conversation.messages.first == all[1])
        #expect(conversation.needsEarlier(after: nil, before: nil, limit: 128) == nil)
        #expect(conversation.needsEarlier(after: all[1].id, before: nil, limit: 9) == nil)
        #expect(conversation.needsEarlier(after: nil, before: all[1].id, limit: 0) == nil)
        #expect(conversation.needsEarlier(after: nil, before: all[4].id, limit: 4) == all[1].id)
        #expect(conversation.needsEarlier(after: "", before: nil, limit: 4) == all[1].id)
        #expect(conversation.needsEarlier(after: "", before: all[0].id, limit: 0) == all[0].id)
        let newest = conversation.page(after: nil, before: all[4].id, limit: 4, earlier: [all[0]])
        #expect(newest.map(\.text) == ["0", "1", "2", "3"])
        // A message that was read twice is in the page once.
        let oldest = conversation.page(after: "", before: nil, limit: 3, earlier: Array(all[0...1]))
        #expect(oldest.map(\.text) == ["0", "1", "2"])
    }

    @Test("messages before a time are removed") func expiry() {
        var conversation = Self.conversation(10)
        conversation.discard(before: WallTime(millisecondsSinceEpoch: 1_700_000_000_007))
        #expect(conversation.messages.map(\.text) == ["7", "8", "9"])
        conversation.discard(before: WallTime(millisecondsSinceEpoch: 1_800_000_000_000))
        #expect(conversation.page(after: nil, before: nil, limit: 9).isEmpty)
    }

    @Test("identifiers grow if the clock was set back since the last run") func clock() {
        let stored = Self.conversation(3).messages
        var conversation = RoomConversation(
            began: WallTime(millisecondsSinceEpoch: 1_600_000_000_000), continuing: stored)
        let message = conversation.append("x", by: Self.author, at: WallTime(millisecondsSinceEpoch: 1_600_000_000_000))
        #expect(stored.allSatisfy { $0.id < message.id })
        #expect(conversation.messages.count == 4)
    }

    @Test("identifiers grow also after a restart") func restart() {
        var later = RoomConversation(began: WallTime(millisecondsSinceEpoch: 1_700_000_001_000))
        let message = later.append("x", by: Self.author, at: WallTime(millisecondsSinceEpoch: 1_700_000_001_000))
        #expect(Self.conversation(100).messages.allSatisfy { $0.id < message.id })
    }
}

extension RoomMachine {
    /// Returns all pending events.
    fileprivate mutating func allEvents() -> [Event] {
        var events: [Event] = []
        while let event = poll() { events.append(event) }
        return events
    }
}

/// A room with clients whose requests and connections are disturbed. The clients apply events like Phenix's Web SDK.
private struct RoomSimulation {
    private enum Request {
        case join(RoomMember)
        case update(RoomMachine.Change)
        case leave
    }

    private enum Delivery {
        case event(RoomMachine.Event)
        case joined(RoomMember, [RoomMember])
        case refused(RoomRefusal)
    }

    private struct Client {
        let session: SessionID
        /// The number of the connection; nil while there is none.
        var connection: Int?
        var isInRoom = false
        /// The client as it is, or is to be.
        var own: RoomMember
        var known: [SessionID: RoomMember] = [:]
        var toServer: [Request] = []
        var toClient: [Delivery] = []
        /// The greatest number of an event of this connection.
        var lastEvent: UInt64 = 0
    }

    enum Fault: CaseIterable {
        case lostConnection, conflict, reorderedRequest, endedStream
    }

    /// The number of faults that were caused.
    private(set) var faults: [Fault: Int] = [:]
    private var random: SimulationGenerator
    private var room: RoomMachine
    private var clients: [Client]
    private var now = Instant(nanoseconds: 0)
    private var nextConnection = 0
    private var nextStream = 0
    private var ended: [StreamID: Instant] = [:]
    /// The ends of connections that the platform has not noticed yet.
    private var lateEnds: [(session: SessionID, connection: Int)] = []
    /// The connections to which the platform sends events.
    private var connections: [SessionID: Int] = [:]
    private var fault: String?

    init(seed: UInt64) {
        random = SimulationGenerator(state: seed &+ 1)
        room = RoomMachine(
            RoomDescription(
                id: "r", application: ApplicationID("first"), alias: "a", name: "n", text: "", kind: .channel,
                options: []))
        clients = (0..<5).map { number in
            let session = SessionID("session-\(number)")
            return Client(
                session: session,
                own: RoomMember(
                    session: session, screenName: "\(number)", role: .audience, state: .passive, streams: []))
        }
    }

    private var time: WallTime { WallTime(millisecondsSinceEpoch: 1_700_000_000_000 + now.nanoseconds / 1_000_000) }

    /// Returns the first violation of a rule; nil if there is none.
    mutating func run() -> String? {
        for _ in 0..<200 {
            step()
            if fault != nil { return fault }
        }
        settle()
        return fault
    }

    private mutating func step() {
        now += .milliseconds(Int64.random(in: 0..<1_500, using: &random))
        let index = Int.random(in: 0..<clients.count, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0: connect(index)
        case 1: disconnect(index)
        case 2: change(index) { $0.role = .presenter }
        case 3: change(index) { $0.role = .audience }
        case 4: publish(index)
        case 5: endStream(index)
        case 6: clients[index].toServer.append(.leave)
        case 7: if clients[index].toServer.count > 1 { reorder(index) }
        case 8: noticeEnd()
        default: break
        }
        if Bool.random(using: &random) { serve(Int.random(in: 0..<clients.count, using: &random)) }
        deliver(Int.random(in: 0..<clients.count, using: &random))
        advance()
    }

    /// Connects all clients and delivers everything, after which all of them must know the same.
    private mutating func settle() {
        for index in clients.indices where clients[index].connection == nil { connect(index) }
        while !lateEnds.isEmpty { noticeEnd() }
        for _ in 0..<40 {
            for index in clients.indices {
                while !clients[index].toServer.isEmpty { serve(index) }
            }
            for index in clients.indices {
                while !clients[index].toClient.isEmpty { deliver(index) }
            }
            now += .seconds(1)
            advance()
        }
        let listed = room.listed
        for client in clients where client.isInRoom {
            let known = client.known.values.sorted { $0.session.description < $1.session.description }
            if known != listed.sorted(by: { $0.session.description < $1.session.description }) {
                fault = "\(client.session) knows \(known) instead of \(listed)"
            }
        }
        if room.memberCount != clients.filter(\.isInRoom).count { fault = "a member was left behind" }
        if room.audienceCount != room.memberCount - listed.count { fault = "the audience is counted wrongly" }
    }

    // MARK: Clients

    private mutating func connect(_ index: Int) {
        guard clients[index].connection == nil else { return }
        nextConnection += 1
        clients[index].connection = nextConnection
        clients[index].lastEvent = 0
        clients[index].own.streams.removeAll { stream in stream.streamID.map { ended[$0] != nil } ?? true }
        clients[index].toServer = [.join(clients[index].own)]
    }

    private mutating func reorder(_ index: Int) {
        clients[index].toServer.swapAt(0, 1)
        faults[.reorderedRequest, default: 0] += 1
    }

    private mutating func disconnect(_ index: Int) {
        guard let connection = clients[index].connection else { return }
        faults[.lostConnection, default: 0] += 1
        clients[index].connection = nil
        clients[index].isInRoom = false
        clients[index].known = [:]
        clients[index].toServer = []
        clients[index].toClient = []
        lateEnds.append((clients[index].session, connection))
        if Bool.random(using: &random) { noticeEnd() }
    }

    private mutating func noticeEnd() {
        guard !lateEnds.isEmpty else { return }
        let end = lateEnds.removeFirst()
        room.connectionLost(end.session, connection: end.connection, at: now)
        if connections[end.session] == end.connection { connections[end.session] = nil }
    }

    private mutating func change(_ index: Int, _ body: (inout RoomMember) -> Void) {
        guard clients[index].isInRoom else { return }
        let former = clients[index].own
        body(&clients[index].own)
        let own = clients[index].own
        // Now and then the client does not know the last change.
        let isStale = Int.random(in: 0..<8, using: &random) == 0
        clients[index].toServer.append(
            .update(
                RoomMachine.Change(
                    role: own.role == former.role ? nil : own.role,
                    streams: own.streams == former.streams ? nil : own.streams,
                    lastUpdate: isStale ? former.lastUpdate &- 1 : former.lastUpdate)))
    }

    private mutating func publish(_ index: Int) {
        guard clients[index].isInRoom else { return }
        nextStream += 1
        let uri = "pcast://phenixp2p.com/stream-\(nextStream)"
        change(index) {
            $0.role = .presenter
            $0.streams = [RoomStream(kind: .presentation, uri: uri, audio: .enabled, video: .enabled)]
        }
    }

    private mutating func endStream(_ index: Int) {
        guard let stream = clients[index].own.streams.first?.streamID, ended[stream] == nil else { return }
        ended[stream] = now
        faults[.endedStream, default: 0] += 1
        room.streamEnded(stream, of: clients[index].session, at: now)
    }

    private mutating func deliver(_ index: Int) {
        guard !clients[index].toClient.isEmpty else { return }
        switch clients[index].toClient.removeFirst() {
        case .joined(let own, let members):
            clients[index].isInRoom = true
            clients[index].own = own
            clients[index].known = Dictionary(uniqueKeysWithValues: members.map { ($0.session, $0) })
        case .refused(.conflict(let lastUpdate)):
            faults[.conflict, default: 0] += 1
            clients[index].own.lastUpdate = lastUpdate
        case .refused: break
        case .event(let event): apply(event, to: index)
        }
    }

    private mutating func apply(_ event: RoomMachine.Event, to index: Int) {
        switch event {
        case .joined(let member):
            order(member, index)
            clients[index].known[member.session] = member
            if member.session == clients[index].session { clients[index].own = member }
        case .updated(let member):
            order(member, index)
            guard let known = clients[index].known[member.session], member.lastUpdate > known.lastUpdate else {
                return
            }
            clients[index].known[member.session] = member
            if member.session == clients[index].session { clients[index].own = member }
        case .left(let member):
            order(member, index)
            if let known = clients[index].known[member.session], member.lastUpdate >= known.lastUpdate {
                clients[index].known[member.session] = nil
            }
            if member.session == clients[index].session { clients[index].own.lastUpdate = member.lastUpdate }
        case .roomUpdated, .ended: break
        }
    }

    private mutating func order(_ member: RoomMember, _ index: Int) {
        if member.lastUpdate <= clients[index].lastEvent { fault = "an event is older than the one before" }
        clients[index].lastEvent = member.lastUpdate
        // The list of the answer to a client that enters again precedes the event about itself.
        let isOwn = member.session == clients[index].session
        if !member.isListed, !isOwn, clients[index].known[member.session] == nil {
            fault = "an event about the audience"
        }
    }

    // MARK: Platform

    private mutating func serve(_ index: Int) {
        guard let connection = clients[index].connection, !clients[index].toServer.isEmpty else { return }
        let session = clients[index].session
        var answer: Delivery?
        switch clients[index].toServer.removeFirst() {
        case .join(var member):
            member.streams = accepted(member.streams, of: session)
            do throws(RoomRefusal) {
                answer = .joined(try room.join(member, connection: connection, at: time), room.listed)
                connections[session] = connection
            } catch {
                answer = .refused(error)
            }
        case .update(let change):
            do throws(RoomRefusal) {
                if let streams = change.streams, accepted(streams, of: session) != streams { throw .unauthorized }
                _ = try room.update(session, change, at: time)
            } catch {
                answer = .refused(error)
            }
        case .leave:
            clients[index].isInRoom = false
            clients[index].toClient = []
            room.leave(session, at: time)
        }
        if case .joined = answer, let answer {
            // The answer has the list, and later events follow it.
            clients[index].toClient = [answer]
            broadcast()
        } else {
            broadcast()
            if let answer { clients[index].toClient.append(answer) }
        }
        if !clients[index].isInRoom, room.member(session) == nil { reenter(index) }
    }

    /// Returns the streams without those that have ended, unless the member announces them already.
    private func accepted(_ streams: [RoomStream], of session: SessionID) -> [RoomStream] {
        let former = room.member(session)?.streams ?? []
        return streams.filter { stream in
            former.contains(stream) || stream.streamID.map { ended[$0] == nil } ?? false
        }
    }

    /// Lets a client that has left enter again now and then.
    private mutating func reenter(_ index: Int) {
        clients[index].lastEvent = 0
        clients[index].known = [:]
        clients[index].own.role = .audience
        clients[index].own.streams = []
        if Bool.random(using: &random) { clients[index].toServer = [.join(clients[index].own)] }
    }

    private mutating func broadcast() {
        while let event = room.poll() {
            for index in clients.indices {
                guard let connection = clients[index].connection, room.member(clients[index].session) != nil,
                    connections[clients[index].session] == connection
                else { continue }
                clients[index].toClient.append(.event(event))
            }
        }
    }

    private mutating func advance() {
        _ = room.advance(to: now, time)
        broadcast()
        for member in room.listed {
            for stream in member.streams {
                guard let id = stream.streamID, let end = ended[id] else { continue }
                if now - end > room.limits.absence + .seconds(2) { fault = "\(member.session) announces \(id)" }
            }
        }
    }
}

/// A small generator with a reproducible sequence (Knuth's MMIX).
private struct SimulationGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
    }
}
