import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastSignaling
import Testing

/// The order of requests, responses and events of rooms, as Phenix's Web SDK sends and expects them. `docs/STANDARDS.md`
/// lists the rules and their tests.
@Suite struct RoomSequenceTests {
    /// The tokens of a viewer and of a publisher of a channel.
    private struct ChannelTokens {
        let viewing: String
        let backend: String
        let publishing: String

        init(_ alias: String) throws {
            viewing = try Tokens.make { $0.forChannelAlias(alias) }
            backend = try Tokens.make { $0.forAuthenticationOnly() }
            publishing = try Tokens.make {
                $0.forPublishingOnly().forChannelAlias(alias).applyTag("channelAlias:\(alias)").withCapability("hd")
            }
        }
    }

    /// Publishes with an offer of the platform, as the Web SDK does, and returns the stream. No media flow.
    private static func publish(
        _ client: ProtocolClient, _ token: String, in room: ChatRoom
    ) async throws -> String {
        let request = PlatformOfferTests.request(
            ["upload", "Chrome", "Chrome-156", "screen=1920x1080"], token: token,
            tags: ["channelId:\(room.roomID)", "channelAlias:\(room.alias)"])
        let created = try #require(try await PlatformOfferTests.created(client, request))
        let offer = created.createOfferDescriptionResponse.sessionDescription.sdp
        let answer = try PlatformOfferTests.answer(offer, sends: true)
        let answered = try await client.ask(PlatformOfferTests.remote(created.streamID, answer))
        #expect(answered == .ok)
        return created.streamID
    }

    @Test("the steps of a channel with tokens: join, publish, announce, watch, mute, stop, leave")
    func steps() async throws {
        try await TestPlatform.runConfigured(configure: { $0.rooms.createsOnJoin = false }) { platform in
            let found = try await platform.send(
                "GET", "/pcast/endPoints?version=2022.0.2&_=1", ["Origin": "https://page.example"])
            #expect(found.status == 200)
            #expect(found.header("Access-Control-Allow-Origin") == "*")
            #expect(try await platform.ask("PUT", "/pcast/channel", #"{"channel":{"alias":"demo"}}"#).status == 200)
            let tokens = try ChannelTokens("demo")
            try await ProtocolClient.run(platform) { viewer in
                _ = try #require(try await viewer.authenticate(tokens.viewing))
                let joined = try await viewer.join("demo")
                #expect(joined.status == "ok")
                #expect(joined.members.isEmpty)
                #expect(joined.self_p.lastUpdate > 1)
                try await ProtocolClient.run(platform) { publisher in
                    let session = try #require(try await publisher.authenticate(tokens.backend))
                    let own = try await publisher.join("demo")
                    #expect(own.self_p.role == .audience)
                    let id = own.room.roomID
                    let stream = try await Self.publish(publisher, tokens.publishing, in: own.room)

                    // The announcement precedes the media.
                    let announced = try await publisher.change(
                        Rooms.update(
                            session, in: id, role: .presenter, streams: [Rooms.stream(stream)],
                            lastUpdate: own.self_p.lastUpdate))
                    #expect(announced.status == "ok")
                    #expect(announced.events.map(\.eventType) == [.memberJoined])
                    let presenter = try #require(try await viewer.event(1)?.members.first)
                    #expect(announced.events.first?.members == [presenter])
                    #expect(presenter.lastUpdate == announced.lastUpdate)
                    #expect(presenter.streams == [Rooms.stream(stream)])
                    let watching = PlatformOfferTests.request(
                        ["download", "Chrome", "Chrome-156"], token: tokens.viewing, origin: stream)
                    let viewing = try #require(try await PlatformOfferTests.created(viewer, watching)).streamID

                    // An update without “updateStreams” leaves the streams as they are.
                    var state = ChatUpdateMember()
                    state.roomID = id
                    state.member.sessionID = session
                    state.member.state = .active
                    state.member.lastUpdate = announced.lastUpdate
                    let active = try await publisher.change(.updateMember(state))
                    #expect(active.events.map(\.eventType) == [.memberUpdated])
                    #expect(active.events.first?.members.first?.streams == presenter.streams)

                    let muted = try await publisher.change(
                        Rooms.update(
                            session, in: id, streams: [Rooms.stream(stream, audio: .trackDisabled)],
                            lastUpdate: active.lastUpdate))
                    #expect(muted.events.map(\.eventType) == [.memberUpdated])
                    #expect(muted.lastUpdate > active.lastUpdate)
                    let seen = try #require(try await viewer.event(3)?.members.first)
                    #expect(seen.streams.first?.audioState == .trackDisabled)
                    #expect(seen.role == .presenter)

                    let destroyed = try await publisher.ask(Requests.destroy(stream, reason: "ended"))
                    #expect(destroyed == .ok)
                    #expect(try await viewer.reason(viewing) != nil)
                    // The Web SDK does not try again after this status, but after that of an unknown stream.
                    let late = try await viewer.status(watching)
                    #expect(late == "origin-stream-ended")
                    let unknown = try await viewer.status(
                        PlatformOfferTests.request(
                            ["download", "Chrome", "Chrome-156"], token: tokens.viewing, origin: "stream-none"))
                    #expect(unknown == "no-stream-playing")
                    let stopped = try await publisher.change(
                        Rooms.update(session, in: id, role: .audience, streams: [], lastUpdate: muted.lastUpdate))
                    #expect(stopped.status == "ok")
                    #expect(stopped.events.map(\.eventType) == [.memberLeft])
                    #expect(try await viewer.event(4)?.members.first?.lastUpdate == stopped.lastUpdate)
                    #expect(try await publisher.leaveRoom(id) == "ok")
                    await publisher.close()
                }
                #expect(try await viewer.leaveRoom(joined.room.roomID) == "ok")
                #expect(await viewer.roomEvents.count == 4)
            }
        }
    }

    @Test("each change is an event for all, the originator included, before the response; refusals are none")
    func order() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { observer in
                _ = try await observer.authenticate()
                let room = try await observer.join("demo").room
                try await ProtocolClient.run(platform) { client in
                    let session = try #require(try await client.authenticate())
                    let joined = try await client.join("demo", role: .participant)
                    // The response has the member, and the event about it follows.
                    #expect(joined.members.map(\.sessionID) == [session])
                    #expect(try await client.event(1)?.members == joined.members)
                    #expect(await client.roomEvents.first?.answers == 2)

                    func request(_ role: ChatMemberRole, _ known: UInt64) -> SignalingRequest {
                        Rooms.update(session, in: room.roomID, role: role, lastUpdate: known)
                    }
                    var known = joined.self_p.lastUpdate
                    let changes: [(role: ChatMemberRole, event: ChatRoomEventType)] = [
                        (.presenter, .memberUpdated), (.audience, .memberLeft), (.presenter, .memberJoined),
                    ]
                    for (role, event) in changes {
                        let changed = try await client.change(request(role, known))
                        #expect(changed.status == "ok")
                        #expect(changed.events.map(\.eventType) == [event])
                        #expect(changed.events.first?.members.map(\.lastUpdate) == [changed.lastUpdate])
                        #expect(changed.lastUpdate > known)
                        // The outdated number is a conflict, whose response has the current one.
                        let stale = try await client.change(request(.participant, known))
                        #expect(stale.status == "conflict")
                        #expect(stale.lastUpdate == changed.lastUpdate)
                        #expect(stale.events.isEmpty)
                        known = changed.lastUpdate
                    }
                    let empty = try await client.change(Rooms.update(session, in: room.roomID, lastUpdate: 1))
                    #expect(empty.status == "ok")
                    #expect(empty.events.isEmpty)

                    var renaming = ChatUpdateRoom()
                    renaming.room = room
                    renaming.room.name = "renamed"
                    let renamed = try await client.events(before: .updateRoom(renaming))
                    #expect(renamed.map(\.eventType) == [.roomUpdated])
                    #expect(renamed.first?.room.name == "renamed")
                    #expect(renamed.first?.room.roomID == room.roomID)
                    var leaving = ChatLeaveRoom()
                    leaving.roomID = room.roomID
                    let left = try await client.events(before: .leaveRoom(leaving))
                    #expect(left.map(\.eventType) == [.memberLeft])
                    let departed = try #require(left.first?.members.first)
                    #expect(departed.lastUpdate > known)

                    // Requests of a client that has left have a response with a status, and not mq.Error.
                    let absent = try await client.change(request(.audience, known))
                    #expect(absent.status == "not-found")
                    #expect(try await observer.event(6) != nil)
                    let both = await [client.roomEvents.map(\.event), observer.roomEvents.map(\.event)]
                    #expect(both[0] == both[1])
                }
            }
        }
    }

    @Test("five repetitions of a refused update have five responses with the current number")
    func repetitions() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let joined = try await client.join("demo", role: .participant)
                let stale = Rooms.update(session, in: joined.room.roomID, role: .audience, lastUpdate: 1)
                for id in try await client.send(stale, stale, stale, stale, stale) {
                    let response = try await client.updateAnswer(id)
                    #expect(response.status == "conflict")
                    #expect(response.lastUpdate == joined.self_p.lastUpdate)
                }
            }
        }
    }

    @Test("an identifier precedes an alias, and an unknown identifier does not hide a known alias")
    func names() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                let first = try await client.createRoom("first").room
                let second = try await client.createRoom("second", type: .townHall).room
                #expect(second.type == .townHall)
                #expect(try await client.join("second", id: first.roomID).room.roomID == first.roomID)
                #expect(try await client.join("second", id: "unknown", options: ["reenter"]).room == second)
                var info = ChatGetRoomInfo()
                info.roomID = first.roomID
                guard case .getRoomInfo(let answer)? = try await client.response(.getRoomInfo(info)) else {
                    Issue.record("GetRoomInfo was not answered")
                    return
                }
                #expect(answer.status == "ok")
                #expect(answer.room == first)
                #expect(answer.members.isEmpty)
            }
        }
    }

    @Test("a client that destroys its stream, leaves and closes at once is one event") func dispose() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { observer in
                _ = try await observer.authenticate()
                let room = try await observer.join("demo").room.roomID
                try await ProtocolClient.run(platform) { client in
                    _ = try await client.authenticate()
                    _ = try await client.join("demo", role: .participant)
                    var leaving = ChatLeaveRoom()
                    leaving.roomID = room
                    _ = try await client.send(Requests.destroy("stream-none", reason: ""), .leaveRoom(leaving))
                    await client.close()
                    #expect(try await observer.event(2)?.eventType == .memberLeft)
                }
                try await ProtocolClient.run(platform) { later in
                    _ = try await later.authenticate()
                    #expect(try await later.join("demo", role: .participant).members.count == 1)
                    #expect(try await observer.event(3)?.eventType == .memberJoined)
                }
            }
        }
    }

    @Test("a client with a new session enters again, and the member of the former session leaves after the time")
    func newSession() async throws {
        try await TestPlatform.runConfigured(configure: { $0.rooms.memberTimeout = .milliseconds(200) }) { platform in
            try await ProtocolClient.run(platform) { observer in
                _ = try await observer.authenticate()
                let room = try await observer.join("demo").room.roomID
                try? await ProtocolClient.run(platform) { client in
                    _ = try await client.authenticate()
                    _ = try await client.join("demo", role: .participant)
                    await client.cut()
                }
                try await ProtocolClient.run(platform) { client in
                    let session = try #require(try await client.authenticate())
                    let joined = try await client.join("demo", id: room, role: .participant, options: ["reenter"])
                    #expect(joined.status == "ok")
                    // The Web SDK then sends one update without a change.
                    let update = try await client.update(
                        Rooms.update(session, in: room, lastUpdate: joined.self_p.lastUpdate))
                    #expect(update.status == "ok")
                    // The former member may leave before or after the new one joins.
                    #expect(try await observer.event(3) != nil)
                    let types = await observer.roomEvents.map(\.event.eventType)
                    #expect(types.first == .memberJoined)
                    let departures = types.filter { $0 == .memberLeft }
                    #expect(departures.count == 1)
                    let info = try await observer.info("demo")
                    #expect(info.members.map(\.sessionID) == [session])
                }
            }
        }
    }
}

extension ProtocolClient {
    /// The response to a change of a member, and the events of rooms that have arrived before it.
    fileprivate struct Changed {
        let status: String
        let lastUpdate: UInt64
        let events: [ChatRoomEvent]
    }

    /// Changes a member.
    fileprivate func change(_ request: SignalingRequest) async throws -> Changed {
        let former = roomEvents.count
        let ids = try await send(request)
        let id = try #require(ids.first)
        let response = try await updateAnswer(id)
        return Changed(
            status: response.status, lastUpdate: response.lastUpdate, events: events(since: former, before: id))
    }

    /// Sends a request that succeeds, and returns the events of rooms that arrive before its response.
    fileprivate func events(before request: SignalingRequest) async throws -> [ChatRoomEvent] {
        let former = roomEvents.count
        let ids = try await send(request)
        let id = try #require(ids.first)
        let response = try await answer(id)?.get()
        #expect(response?.statusText == "ok")
        return events(since: former, before: id)
    }

    private func events(since former: Int, before id: SignalingRequestID) -> [ChatRoomEvent] {
        guard let position = answered.firstIndex(of: id) else { return [] }
        return roomEvents.dropFirst(former).filter { $0.answers <= position }.map(\.event)
    }
}
