import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// Rooms and channels over real WebSockets, without an SDK.
@Suite struct RoomProtocolTests {
    @Test("a channel: the viewer first, then a publisher who mutes, stops and leaves") func channel() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { viewer in
                _ = try await viewer.authenticate()
                let joined = try await viewer.join("demo")
                #expect(joined.status == "ok")
                #expect(joined.room.alias == "demo")
                #expect(!joined.room.name.isEmpty)
                #expect(joined.room.hasDescription_p)
                #expect(joined.room.type == .channel)
                #expect(joined.members.isEmpty)
                #expect(joined.self_p.role == .audience)
                try await ProtocolClient.run(platform) { publisher in
                    let session = try #require(try await publisher.authenticate())
                    let own = try await publisher.join("demo")
                    #expect(own.room.roomID == joined.room.roomID)
                    let stream = try #require(try await publisher.setUp(try Requests.publish()))

                    // The event reaches the publisher before the response, and the viewer, too.
                    let published = Rooms.update(
                        session, in: own.room.roomID, role: .presenter, streams: [Rooms.stream(stream)],
                        lastUpdate: own.self_p.lastUpdate)
                    let first = try #require(try await publisher.send(published).first)
                    let answer = try await publisher.updateAnswer(first)
                    #expect(answer.status == "ok")
                    #expect(answer.lastUpdate > own.self_p.lastUpdate)
                    let event = try #require(await publisher.roomEvents.last)
                    #expect(event.event.eventType == .memberJoined)
                    #expect(event.event.members.first?.lastUpdate == answer.lastUpdate)
                    let position = await publisher.answered.firstIndex(of: first)
                    #expect(event.answers == position)
                    let seen = try #require(try await viewer.event(1))
                    #expect(seen == event.event)
                    #expect(seen.members.first?.sessionID == session)
                    #expect(seen.members.first?.streams.first?.uri == Rooms.stream(stream).uri)

                    // A later viewer has the presenter in the list.
                    try await ProtocolClient.run(platform) { late in
                        _ = try await late.authenticate()
                        let answer = try await late.join("demo")
                        #expect(answer.members == seen.members)
                    }

                    let muted = try await publisher.update(
                        Rooms.update(
                            session, in: own.room.roomID, streams: [Rooms.stream(stream, audio: .trackDisabled)],
                            lastUpdate: answer.lastUpdate))
                    #expect(muted.status == "ok")
                    let mute = try #require(try await viewer.event(2))
                    #expect(mute.eventType == .memberUpdated)
                    #expect(mute.members.first?.streams.first?.audioState == .trackDisabled)
                    #expect(mute.members.first?.role == .presenter)

                    let stopped = try await publisher.update(
                        Rooms.update(
                            session, in: own.room.roomID, role: .audience, streams: [], lastUpdate: muted.lastUpdate))
                    #expect(stopped.status == "ok")
                    #expect(try await viewer.event(3)?.eventType == .memberLeft)
                    #expect(try await publisher.leaveRoom(own.room.roomID) == "ok")
                    #expect(try await publisher.leaveRoom(own.room.roomID) == "not-found")
                }
                #expect(await viewer.roomEvents.count == 3)
            }
        }
    }

    @Test("WHEP viewers of a channel's name receive a presenter whose stream is available")
    func whep() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { first in
                let firstSession = try #require(try await first.authenticate())
                let room = try await first.join("demo")
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
                let one = try #require(try await first.setUp(try Requests.publish()))
                // A stream that nobody announces is not that of the channel.
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
                let published = try await first.update(
                    Rooms.update(
                        firstSession, in: room.room.roomID, role: .presenter, streams: [Rooms.stream(one)],
                        lastUpdate: room.self_p.lastUpdate))
                #expect(published.status == "ok")
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 201)
                // The identifier contains “#”.
                let encoded = room.room.roomID.replacing("#", with: "%23")
                #expect(try await platform.post("/whep/\(encoded)", try Offers.viewer()).status == 201)
                try await ProtocolClient.run(platform) { second in
                    let session = try #require(try await second.authenticate())
                    let own = try await second.join("demo", screenName: "b")
                    let two = try #require(try await second.setUp(try Requests.publish()))
                    let joined = try await second.update(
                        Rooms.update(
                            session, in: own.room.roomID, role: .presenter, streams: [Rooms.stream(two)],
                            lastUpdate: own.self_p.lastUpdate))
                    #expect(joined.status == "ok")
                    // The newest presenter is preferred. The other one follows when its stream ends.
                    #expect(try await second.ask(Requests.destroy(two, reason: "ended")) == .ok)
                    #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 201)
                }
                let stopped = try await first.update(
                    Rooms.update(
                        firstSession, in: room.room.roomID, role: .audience, streams: [],
                        lastUpdate: published.lastUpdate))
                #expect(stopped.status == "ok")
                // The viewers of the channel wait for the next presenter, and others may join them.
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 201)
                #expect(try await platform.post("/whep/\(one)", try Offers.viewer()).status == 201)
            }
        }
    }

    @Test("members of the audience are in no list and in no event, and a closed connection is a leave")
    func audience() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { first in
                _ = try await first.authenticate()
                _ = try await first.join("demo")
                try await ProtocolClient.run(platform) { member in
                    _ = try await member.authenticate()
                    #expect(try await member.join("demo", role: .participant).members.count == 1)
                    // Viewers come and go.
                    for _ in 0..<3 {
                        try await ProtocolClient.run(platform) { viewer async throws in
                            _ = try await viewer.authenticate()
                            #expect(try await viewer.join("demo").members.count == 1)
                            await viewer.close()
                        }
                    }
                    await member.close()
                }
                // The participant's connection was closed with status 1000.
                let left = try #require(try await first.event(2))
                #expect(left.eventType == .memberLeft)
                #expect(await first.roomEvents.map { $0.event.eventType } == [.memberJoined, .memberLeft])
            }
        }
    }

    @Test("a stale number is a conflict that tells the current one, and an empty change is accepted")
    func conflict() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let joined = try await client.join("demo", role: .participant)
                let stale = try await client.update(
                    Rooms.update(session, in: joined.room.roomID, role: .audience, lastUpdate: 1))
                #expect(stale.status == "conflict")
                #expect(stale.lastUpdate == joined.self_p.lastUpdate)
                let empty = try await client.update(Rooms.update(session, in: joined.room.roomID, lastUpdate: 1))
                #expect(empty.status == "ok")
                #expect(empty.lastUpdate == joined.self_p.lastUpdate)
            }
        }
    }

    @Test("foreign sessions, streams and rooms are unauthorized") func foreign() async throws {
        try await TestPlatform.run { platform in
            let (unrelated, _) = try await platform.publish()
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let joined = try await client.join("demo")
                let id = joined.room.roomID
                let announced = try await client.update(
                    Rooms.update(
                        session, in: id, role: .presenter, streams: [Rooms.stream(unrelated)],
                        lastUpdate: joined.self_p.lastUpdate))
                #expect(announced.status == "unauthorized")
                let unknown = try await client.update(
                    Rooms.update(
                        session, in: id, role: .presenter, streams: [Rooms.stream("stream-none")],
                        lastUpdate: joined.self_p.lastUpdate))
                #expect(unknown.status == "unauthorized")
                #expect(try await client.join("demo", session: "session-x").status == "unauthorized")
                #expect(try await client.update(Rooms.update("session-x", in: id)).status == "not-found")
                try await ProtocolClient.run(platform) { other in
                    let target = try #require(try await other.authenticate())
                    _ = try await other.join("demo", role: .participant)
                    let moderated = try await client.update(Rooms.update(target, in: id, role: .audience))
                    #expect(moderated.status == "unauthorized")
                }
                // A stream with the tag of another channel is not announced here.
                let elsewhere = try #require(
                    try await client.setUp(try Requests.publish(tags: ["channelAlias:other"])))
                let misplaced = try await client.update(
                    Rooms.update(
                        session, in: id, role: .presenter, streams: [Rooms.stream(elsewhere)],
                        lastUpdate: joined.self_p.lastUpdate))
                #expect(misplaced.status == "unauthorized")
            }
        }
    }

    @Test("tokens: a viewer enters the room of its tag only, and creates none") func tokens() async throws {
        try await TestPlatform.run { platform in
            let viewing = try Tokens.make { $0.forChannelAlias("demo") }
            let backend = try Tokens.make { $0.forAuthenticationOnly() }
            try await ProtocolClient.run(platform) { viewer in
                _ = try #require(try await viewer.authenticate(viewing))
                #expect(try await viewer.join("demo").status == "not-found")
                #expect(try await viewer.createRoom("demo").status == "unauthorized")
                try await ProtocolClient.run(platform) { client in
                    _ = try #require(try await client.authenticate(backend))
                    #expect(try await client.createRoom("demo").status == "ok")
                    #expect(try await client.createRoom("other").status == "ok")
                    let again = try await client.createRoom("demo")
                    #expect(again.status == "already-exists")
                    #expect(again.room.alias == "demo")
                    // Only a token with the capability “moderator” makes a moderator.
                    #expect(try await client.join("demo", role: .moderator).status == "unauthorized")
                    var change = ChatUpdateRoom()
                    change.room = again.room
                    change.room.name = "renamed"
                    guard case .updateRoom(let refused)? = try await client.response(.updateRoom(change)) else {
                        Issue.record("UpdateRoom was not answered")
                        return
                    }
                    #expect(refused.status == "unauthorized")
                }
                #expect(try await viewer.join("demo").status == "ok")
                #expect(try await viewer.join("other").status == "unauthorized")
            }
            let foreign = try Tokens.make(TestPlatform.otherApplication) { $0.forStreamingOnly() }
            try await ProtocolClient.run(platform) { other async throws in
                _ = try #require(try await other.authenticate(foreign))
                #expect(try await other.join("demo").status == "not-found")
            }
        }
    }

    @Test("a room is created on join only if the setting permits it") func creation() async throws {
        try await TestPlatform.runConfigured(configure: { $0.rooms.createsOnJoin = false }) { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                #expect(try await client.join("demo").status == "not-found")
                #expect(try await client.createRoom("").room.alias.isEmpty == false)
            }
        }
    }

    @Test("unknown values and missing fields are a bad request, and reach nobody") func badRequests() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                // An unknown role is read as none.
                var join = ChatJoinRoom()
                join.alias = "demo"
                join.member.screenName = "a"
                #expect(try await client.status(.joinRoom(join)) == "bad-request")
                #expect(try await client.status(.joinRoom(ChatJoinRoom())) == "bad-request")
                let name = String(repeating: "x", count: 257)
                #expect(try await client.join("demo", screenName: name).status == "bad-request")
                let joined = try await client.join("demo", role: .participant)
                let many = (0..<9).map { Rooms.stream("stream-\($0)") }
                let streams = try await client.update(
                    Rooms.update(session, in: joined.room.roomID, streams: many, lastUpdate: joined.self_p.lastUpdate))
                #expect(streams.status == "bad-request")
                #expect(try await client.status(.createRoom(ChatCreateRoom())) == "bad-request")
                #expect(try await client.status(.getRoomInfo(ChatGetRoomInfo())) == "not-found")
            }
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.join("demo").status == "unauthorized")
            }
        }
    }

    @Test("a member enters again on another connection, and its former one does not remove it")
    func reenter() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { viewer in
                _ = try await viewer.authenticate()
                _ = try await viewer.join("demo")
                try await ProtocolClient.run(platform) { second in
                    try await ProtocolClient.run(platform) { first in
                        let session = try #require(try await first.authenticate())
                        let joined = try await first.join("demo", role: .participant)
                        #expect(try await second.authenticate(session: session) == session)
                        let again = try await second.join("demo", role: .participant, options: ["reenter"])
                        #expect(again.self_p == joined.self_p)
                        #expect(again.members == joined.members)
                        await first.close()
                        #expect(try await first.closes())
                    }
                    // The first connection was closed. The member is still there, and changes.
                    let info = try await second.info("demo")
                    #expect(info.members.count == 1)
                    await second.close()
                }
                #expect(try await viewer.event(2)?.eventType == .memberLeft)
                #expect(await viewer.roomEvents.count == 2)
            }
        }
    }

    @Test("a member whose connection breaks leaves after a time") func brokenConnection() async throws {
        try await TestPlatform.runConfigured(configure: { $0.rooms.memberTimeout = .milliseconds(200) }) { platform in
            try await ProtocolClient.run(platform) { viewer in
                _ = try await viewer.authenticate()
                _ = try await viewer.join("demo")
                try? await ProtocolClient.run(platform) { member in
                    _ = try await member.authenticate()
                    _ = try await member.join("demo", role: .participant)
                    await member.cut()
                }
                #expect(try await viewer.event(2)?.eventType == .memberLeft)
            }
        }
    }

    @Test("chat: the sender gets the event before the response, and pages are in order") func chat() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { first in
                _ = try await first.authenticate()
                let id = try await first.join("demo").room.roomID
                #expect(try await first.fetch(id, subscribes: true).status == "ok")
                try await ProtocolClient.run(platform) { second in
                    let session = try #require(try await second.authenticate())
                    #expect(try await second.say("too early", in: id) == "not-found")
                    let own = try await second.join("demo", role: .participant, screenName: "Ann")
                    #expect(try await second.fetch(id, subscribes: true).chatMessages.isEmpty)
                    for number in 0..<3 { #expect(try await second.say("\(number)", in: id) == "ok") }
                    _ = try await eventually { await first.roomMessages.count == 3 }
                    let seen = await first.roomMessages.map { $0.message }
                    #expect(seen.map(\.message) == ["0", "1", "2"])
                    #expect(seen.map(\.messageID) == seen.map(\.messageID).sorted())
                    #expect(await second.roomMessages.map { $0.message } == seen)
                    #expect(seen.first?.from.sessionID == session)
                    #expect(seen.first?.from.screenName == "Ann")
                    #expect(seen.first?.from.lastUpdate == own.self_p.lastUpdate)
                    // authenticate, say, join, fetch; then the first message precedes its response.
                    #expect(await second.roomMessages.first?.answers == 4)

                    let page = try await first.fetch(id, before: seen[2].messageID, limit: 1).chatMessages
                    #expect(page == [seen[1]])
                    let between = try await first.fetch(
                        id, after: seen[0].messageID, before: seen[2].messageID, limit: 0
                    ).chatMessages
                    #expect(between == [seen[1]])

                    #expect(try await second.say("", in: id) == "bad-request")
                    #expect(try await second.say(String(repeating: "x", count: 1_025), in: id) == "rate-limited")
                    var message = ChatSendMessageToRoom()
                    message.roomID = id
                    message.chatMessage.message = "x"
                    let statuses = try await second.statuses(.sendMessageToRoom(message))
                    #expect(statuses == ["ok", "rate-limited"])
                }
            }
        }
    }

    @Test("a client that changes itself too often is refused, and nobody else") func changesTooOften() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let joined = try await client.join("demo", role: .participant)
                let stale = Rooms.update(session, in: joined.room.roomID, role: .audience, lastUpdate: 1)
                let statuses = try await client.statuses(stale)
                #expect(statuses == ["conflict", "rate-limited"])
                try await ProtocolClient.run(platform) { other async throws in
                    _ = try await other.authenticate()
                    #expect(try await other.join("demo", role: .participant).status == "ok")
                }
            }
        }
    }

    @Test("a presenter that mutes and unmutes too often is refused, and others are neither refused nor late")
    func mutesTooOften() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { presenter in
                let session = try #require(try await presenter.authenticate())
                let joined = try await presenter.join("demo")
                let room = joined.room.roomID
                let stream = try #require(try await presenter.setUp(try Requests.publish()))
                let announced = try await presenter.update(
                    Rooms.update(
                        session, in: room, role: .presenter, streams: [Rooms.stream(stream)],
                        lastUpdate: joined.self_p.lastUpdate))
                #expect(announced.status == "ok")
                try await ProtocolClient.run(platform) { other in
                    var last = announced
                    let own = try #require(try await other.authenticate())
                    let member = try await other.join("demo", role: .participant)
                    var known = member.self_p.lastUpdate
                    // Its own join.
                    let before = 1
                    #expect(try await other.event(before)?.sessionID == own)
                    var (changes, isRefused) = (0, false)
                    // A client may make 50 changes at once, so a loop of them is refused soon.
                    for round in 0..<2_000 where !isRefused {
                        let isMuted = round.isMultiple(of: 2)
                        let streams = [Rooms.stream(stream, audio: isMuted ? .trackDisabled : .trackEnabled)]
                        let answer = try await presenter.update(
                            Rooms.update(session, in: room, streams: streams, lastUpdate: last.lastUpdate))
                        isRefused = answer.status == "rate-limited"
                        guard !isRefused else { break }
                        try #require(answer.status == "ok")
                        (last, changes) = (answer, changes + 1)
                    }
                    #expect(isRefused)
                    let changed = try await other.update(
                        Rooms.update(own, in: room, role: .moderator, lastUpdate: known))
                    #expect(changed.status == "ok")
                    known = changed.lastUpdate
                    // Each accepted change is one event, and nothing else.
                    #expect(try await other.event(before + changes + 1)?.sessionID == own)
                    #expect(await other.roomEvents.count == before + changes + 1)
                    #expect(known > last.lastUpdate)
                }
            }
        }
    }

    @Test("rooms: three participants, a moderator, and changes of the room") func room() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { moderator in
                let own = try #require(try await moderator.authenticate())
                let created = try await moderator.createRoom("meeting", type: .multiPartyChat)
                #expect(created.room.type == .multiPartyChat)
                let id = created.room.roomID
                #expect(try await moderator.join("", id: id, role: .moderator).members.map(\.sessionID) == [own])
                try await ProtocolClient.run(platform) { second in
                    let session = try #require(try await second.authenticate())
                    #expect(try await second.join("", id: id, role: .participant).members.count == 2)
                    try await ProtocolClient.run(platform) { third in
                        _ = try await third.authenticate()
                        let joined = try await third.join("", id: id, role: .participant)
                        #expect(joined.members.count == 3)
                        let member = try #require(joined.members.first { $0.sessionID == session })
                        // The moderator gives the floor to the second participant.
                        let moderated = try await moderator.update(
                            Rooms.update(session, in: id, role: .presenter, lastUpdate: member.lastUpdate))
                        #expect(moderated.status == "ok")
                        var change = ChatUpdateRoom()
                        change.room = created.room
                        change.room.name = "renamed"
                        #expect(try await moderator.status(.updateRoom(change)) == "ok")
                        // Its own join is the first event of each.
                        let update = try #require(try await third.event(2))
                        #expect(update.eventType == .memberUpdated)
                        #expect(update.members.first?.role == .presenter)
                        let renamed = try #require(try await third.event(3))
                        #expect(renamed.eventType == .roomUpdated)
                        #expect(renamed.room.name == "renamed")
                        #expect(renamed.room.roomID == id)
                        #expect(try await second.event(4) == renamed)
                    }
                }
            }
        }
    }
}

/// Requests for rooms.
enum Rooms {
    static func stream(_ id: String, audio: ChatTrackState = .trackEnabled) -> ChatStream {
        var stream = ChatStream()
        stream.type = .presentation
        stream.uri = "pcast://phenixp2p.com/\(id)?capabilities=hd"
        stream.audioState = audio
        stream.videoState = .trackEnabled
        return stream
    }

    static func update(
        _ target: String, in room: String, role: ChatMemberRole? = nil, streams: [ChatStream]? = nil,
        lastUpdate: UInt64 = 0
    ) -> SignalingRequest {
        var message = ChatUpdateMember()
        message.roomID = room
        message.member.sessionID = target
        message.member.lastUpdate = lastUpdate
        if let role { message.member.role = role }
        if let streams {
            message.member.updateStreams = true
            message.member.streams = streams
        }
        return .updateMember(message)
    }
}

extension ProtocolClient {
    func join(
        _ alias: String, id: String = "", session: String = "", role: ChatMemberRole = .audience,
        screenName: String = "a", options: [String] = []
    ) async throws -> ChatJoinRoomResponse {
        var message = ChatJoinRoom()
        if !id.isEmpty { message.roomID = id }
        message.alias = alias
        message.sessionID = session
        message.options = options
        message.member.sessionID = session
        message.member.screenName = screenName
        message.member.role = role
        message.member.state = .passive
        message.member.lastUpdate = 1
        guard case .joinRoom(let response)? = try await response(.joinRoom(message)) else { throw NoResponse() }
        return response
    }

    func update(_ request: SignalingRequest) async throws -> ChatUpdateMemberResponse {
        guard case .updateMember(let response)? = try await response(request) else { throw NoResponse() }
        return response
    }

    func updateAnswer(_ id: SignalingRequestID) async throws -> ChatUpdateMemberResponse {
        guard case .updateMember(let response)? = try await answer(id)?.get() else { throw NoResponse() }
        return response
    }

    func leaveRoom(_ id: String) async throws -> String {
        var message = ChatLeaveRoom()
        message.roomID = id
        return try await status(.leaveRoom(message))
    }

    func createRoom(_ alias: String, type: ChatRoomType = .channel) async throws -> ChatCreateRoomResponse {
        var message = ChatCreateRoom()
        message.room.alias = alias
        message.room.name = "name"
        message.room.description_p = "Room Channel"
        message.room.type = type
        guard case .createRoom(let response)? = try await response(.createRoom(message)) else { throw NoResponse() }
        return response
    }

    func info(_ alias: String) async throws -> ChatGetRoomInfoResponse {
        var message = ChatGetRoomInfo()
        message.alias = alias
        guard case .getRoomInfo(let response)? = try await response(.getRoomInfo(message)) else { throw NoResponse() }
        return response
    }

    func say(_ text: String, in room: String) async throws -> String {
        var message = ChatSendMessageToRoom()
        message.roomID = room
        message.chatMessage.message = text
        return try await status(.sendMessageToRoom(message))
    }

    func fetch(
        _ room: String, after: String = "", before: String = "", limit: UInt32 = 0, subscribes: Bool = false
    ) async throws -> ChatFetchRoomConversationResponse {
        var message = ChatFetchRoomConversation()
        message.roomID = room
        message.limit = limit
        if !after.isEmpty { message.afterMessageID = after }
        if !before.isEmpty { message.beforeMessageID = before }
        if subscribes { message.options = [.subscribe] }
        guard case .fetchRoomConversation(let response)? = try await response(.fetchRoomConversation(message)) else {
            throw NoResponse()
        }
        return response
    }

    /// Returns the status of a response as text.
    func status(_ request: SignalingRequest) async throws -> String {
        guard let response = try await response(request) else { throw NoResponse() }
        return response.statusText
    }

    /// Sends a request again and again, many at once, until one is rate-limited. Returns the statuses.
    func statuses(_ request: SignalingRequest) async throws -> Set<String> {
        var statuses: Set<String> = []
        _ = try await eventually {
            var ids: [SignalingRequestID] = []
            for _ in 0..<50 { ids += try await send(request) }
            for id in ids {
                guard let response = try await answer(id)?.get() else { throw NoResponse() }
                statuses.insert(response.statusText)
            }
            return statuses.contains("rate-limited")
        }
        return statuses
    }

    /// Waits for an event of a room, counted from 1.
    func event(_ number: Int) async throws -> ChatRoomEvent? {
        _ = try await eventually { roomEvents.count >= number || isClosed }
        return roomEvents.count >= number ? roomEvents[number - 1].event : nil
    }

    private struct NoResponse: Error {}
}
