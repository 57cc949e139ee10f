import PCast
import PCastCompatibility
import PCastCore
import PCastPlatform
import Synchronization
import Testing

/// Rooms and channels with the SDK and a real platform.
@Suite struct ChannelClientTests {
    /// Runs `body` with a client of the platform that has authenticated.
    private func withClient(
        of platform: TestPlatform, _ body: (PCast) async throws -> Void
    ) async throws {
        let client = PCast(PCastOptions(uri: platform.uri))
        try await client.start()
        do {
            try await body(client)
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }

    @Test("a viewer connects before anybody presents, and keeps its stream while presenters follow each other")
    func following() async throws {
        try await TestPlatform.run { platform in
            try await withClient(of: platform) { viewer in
                let channel = viewer.channel("demo")
                try await channel.join(screenName: "viewer")
                // The stream of the channel has the viewer before there is a presenter.
                #expect(try await eventually { await platform.platform.streams().map(\.viewers) == [1] })
                let own = try #require(await platform.platform.streams().first?.id)
                #expect(channel.stream.value == nil)
                try await withClient(of: platform) { first in
                    let media = ApplicationMedia(channels: nil)
                    let publication = try await first.channel("demo").publish(
                        media.mediaStream, screenName: "first")
                    #expect(try await eventually { channel.stream.value != nil })
                    let shown = try #require(channel.stream.value)
                    try await withClient(of: platform) { second in
                        let source = ApplicationMedia(channels: nil)
                        let other = try await second.channel("demo").publish(
                            source.mediaStream, screenName: "second")
                        #expect(try await eventually { channel.presenter.value?.screenName == "second" })
                        #expect(channel.stream.value === shown)
                        await other.stop()
                        #expect(try await eventually { channel.presenter.value?.screenName == "first" })
                        #expect(channel.stream.value === shown)
                        source.stop()
                    }
                    await publication.stop()
                    #expect(try await eventually { channel.presenter.value == nil })
                    #expect(try await eventually { channel.stream.value == nil })
                    #expect(shown.endedInfo == nil)
                    let views = await platform.platform.streams().first { $0.id == own }?.viewers
                    #expect(views == 1)
                    media.stop()
                }
                await channel.leave()
                #expect(try await eventually { await platform.platform.streams().allSatisfy { $0.viewers == 0 } })
            }
        }
    }

    @Test("if the channel selects in another way, a viewer receives the stream of each presenter") func failover()
        async throws
    {
        try await TestPlatform.run { platform in
            let created = try await platform.ask(
                "PUT", "/pcast/channel", #"{"channel":{"alias":"demo","options":["high-availability"]}}"#)
            #expect(created.status == 200)
            try await withClient(of: platform) { viewer in
                let channel = viewer.channel("demo")
                try await channel.join(screenName: "viewer")
                #expect(channel.room.info.value?.alias == "demo")
                #expect(channel.room.info.value?.type == .channel)
                #expect(channel.room.own.value?.role == .audience)
                #expect(channel.room.members.value.isEmpty)
                try await withClient(of: platform) { first in
                    let media = ApplicationMedia(channels: nil)
                    let publication = try await first.channel("demo").publish(
                        media.mediaStream, screenName: "first")
                    #expect(try await eventually { channel.stream.value != nil })
                    let presenter = try #require(channel.presenter.value)
                    #expect(presenter.screenName == "first")
                    #expect(presenter.streams.first?.streamID == publication.publisher.current.value?.streamID)
                    let shown = try #require(channel.stream.value)

                    try await withClient(of: platform) { second in
                        let source = ApplicationMedia(channels: nil)
                        let other = try await second.channel("demo").publish(
                            source.mediaStream, screenName: "second")
                        // There may be no stream between them.
                        #expect(
                            try await eventually { channel.stream.value != nil && channel.stream.value !== shown })
                        let next = try #require(channel.stream.value)
                        #expect(try await eventually { channel.presenter.value?.screenName == "second" })
                        #expect(
                            try await eventually {
                                channel.room.members.value.map(\.screenName) == ["first", "second"]
                            })
                        await other.stop()
                        #expect(try await eventually { channel.stream.value != nil && channel.stream.value !== next })
                        #expect(try await eventually { channel.presenter.value?.screenName == "first" })
                        source.stop()
                    }
                    await publication.stop()
                    #expect(try await eventually { channel.presenter.value == nil })
                    #expect(try await eventually { channel.stream.value == nil })
                    media.stop()
                }
                await channel.leave()
                #expect(channel.room.status.value == .left)
            }
        }
    }

    @Test("members receive changes of roles and mute states, and a moderator makes some") func members() async throws {
        try await TestPlatform.run { platform in
            try await withClient(of: platform) { moderator in
                let created = try await moderator.createRoom("meeting", name: "Meeting")
                #expect(created.type == .multiPartyChat)
                let room = moderator.room("meeting")
                #expect(try await room.join(as: .moderator, screenName: "Ann") == created)
                #expect(room.members.value.map(\.screenName) == ["Ann"])
                try await withClient(of: platform) { guest in
                    let other = guest.room(id: created.id)
                    try await other.join(screenName: "Bob")
                    let media = ApplicationMedia(channels: nil)
                    let publication = try await other.publish(media.mediaStream)
                    let session = try #require(guest.sessionID)
                    #expect(try await eventually { room.member(session)?.streams.first?.audio == .enabled })
                    try await publication.setMuted(audio: true)
                    #expect(try await eventually { room.member(session)?.streams.first?.audio == .disabled })
                    // Two changes at once follow each other, so neither conflicts.
                    async let hand: Void = other.update(state: .handRaised)
                    async let name: Void = other.update(screenName: "Robert")
                    _ = try await (hand, name)
                    #expect(try await eventually { room.member(session)?.state == .handRaised })
                    #expect(try await eventually { room.member(session)?.screenName == "Robert" })
                    try await room.update(session, role: .presenter, state: .active)
                    #expect(try await eventually { other.own.value?.state == .active })
                    #expect(other.own.value?.role == .presenter)
                    try await room.setMuted(session, video: true)
                    #expect(try await eventually { other.own.value?.streams.first?.video == .disabled })
                    await publication.stop()
                    #expect(try await eventually { room.member(session)?.streams.isEmpty == true })
                    media.stop()
                    await other.leave()
                    #expect(try await eventually { room.members.value.map(\.screenName) == ["Ann"] })
                }
                let refused = await #expect(throws: PCastError.self) {
                    try await moderator.room("other").join(screenName: "")
                }
                #expect(refused?.status == .badRequest)
            }
        }
    }

    @Test("messages arrive in order, with earlier ones, and the audience is counted") func chat() async throws {
        try await TestPlatform.run { platform in
            try await withClient(of: platform) { first in
                let room = first.room("demo")
                try await room.join(as: .audience, screenName: "Ann")
                try await room.send("zero")
                try await room.send("one")
                try await withClient(of: platform) { second in
                    let other = second.room("demo")
                    try await other.join(as: .audience, screenName: "Bob")
                    #expect(try await room.audienceCount() == 2)
                    let messages = try await other.messages(history: 1)
                    try await room.send("two")
                    try await other.send("three")
                    let seen = await texts(messages, count: 3)
                    #expect(seen.map(\.text) == ["one", "two", "three"])
                    #expect(seen.map(\.screenName) == ["Ann", "Ann", "Bob"])
                    #expect(seen.last?.sessionID == second.sessionID)
                    let page = try await other.history(before: seen.last?.id, limit: 2)
                    #expect(page == Array(seen.prefix(2)))
                    let large = await #expect(throws: PCastError.self) {
                        try await other.send(String(repeating: "x", count: 1_025))
                    }
                    #expect(large?.status == .rateLimited)
                    await other.leave()
                    // The stream of messages ends with the membership.
                    #expect(await texts(messages, count: 1).isEmpty)
                    let absent = await #expect(throws: PCastError.self) { try await other.send("late") }
                    #expect(absent?.status == .notReady)
                }
            }
        }
    }

    @Test("a client enters its rooms again after a restart of the platform") func recovery() async throws {
        let client = Box()
        let port = try await TestPlatform.runAtChosenPort { platform in
            let pcast = PCast(PCastOptions(uri: platform.uri))
            try await pcast.start()
            let room = pcast.room("demo")
            try await room.join(screenName: "Ann")
            (client.room, client.pcast) = (room, pcast)
        }
        let room = try #require(client.room)
        let former = try #require(room.info.value)
        #expect(try await eventually { room.status.value == .reconnecting })
        try await TestPlatform.runConfigured(configure: { $0.port = port }) { _ in
            #expect(try await eventually { room.status.value == .joined })
            #expect(room.info.value?.id == former.id)
            #expect(room.members.value.map(\.screenName) == ["Ann"])
            #expect(room.own.value?.sessionID == client.pcast?.sessionID)
            try await room.send("still here")
            await room.leave()
            await client.pcast?.shutdown()
        }
    }

    /// The values with which a function calls back. Some functions of the Express names call back several times.
    private final class Callback<Value: Sendable>: Sendable {
        private let values = Mutex<[Value]>([])

        func call(_ value: Value) { values.withLock { $0.append(value) } }

        /// Waits for the next value that the condition accepts, and removes it and those before it. Nil if there is none in
        /// time.
        func first(_ condition: (Value) -> Bool = { _ in true }) async throws -> Value? {
            var found: Value?
            _ = try await eventually {
                let all = values.withLock { $0 }
                guard let index = all.firstIndex(where: condition) else { return false }
                values.withLock { $0.removeFirst(index + 1) }
                found = all[index]
                return true
            }
            return found
        }
    }

    private static func express(_ platform: TestPlatform) throws -> PhenixChannelExpress {
        let options = PhenixPCastExpressFactory.createPCastExpressOptionsBuilder()
            .withPCastUri(platform.uri)
            .buildPCastExpressOptions()
        return try #require(PhenixChannelExpressFactory.createChannelExpress(options))
    }

    @Test("Phenix's Express names: a channel is created, published to and watched, with chat, until all leave")
    func expressNames() async throws {
        typealias Joined = (status: PhenixRequestStatus, service: PhenixRoomService?)
        typealias Watched = (status: PhenixRequestStatus, hasStream: Bool)
        try await TestPlatform.run { platform in
            let (presenting, viewing) = (try Self.express(platform), try Self.express(platform))
            let room = PhenixRoomExpressFactory.createRoomOptionsBuilder().withAlias("demo").withName("Demo")
                .buildRoomOptions()
            for _ in 0..<2 {
                // A channel that exists is passed to the callback, too.
                let created = Callback<(PhenixRequestStatus, String?)>()
                presenting.createChannel(room) { status, info in created.call((status, info?.name)) }
                let made = try await created.first()
                let (status, name) = try #require(made)
                #expect(status == .ok)
                #expect(name == "Demo")
            }
            let joining = PhenixRoomExpressFactory.createJoinRoomOptionsBuilder().withRoomAlias("demo")
                .withScreenName("Ann").buildJoinRoomOptions()
            let watching = PhenixChannelExpressFactory.createJoinChannelOptionsBuilder().withJoinRoomOptions(joining)
                .withStreamSelectionStrategy(.mostRecent).buildJoinChannelOptions()
            let joined = Callback<Joined>()
            let watched = Callback<Watched>()
            viewing.joinChannel(
                watching, { joined.call(($0, $1)) },
                { status, subscriber, _ in watched.call((status, subscriber != nil)) })
            let answered = try await joined.first()
            let entered = try #require(answered)
            #expect(entered.status == .ok)
            let service = try #require(entered.service)
            #expect(service.observableActiveRoom.value?.alias == "demo")
            #expect(service.observableSelf.value?.role == .audience)
            // Nobody presents yet.
            let before = try await watched.first()
            #expect(before?.status == .noStreamPlaying)

            let source = PCast(PCastOptions(uri: platform.uri))
            let media = try await source.getUserMedia(
                UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
            let publishing = PhenixPCastExpressFactory.createPublishOptionsBuilder().withUserMedia(media)
                .buildPublishOptions()
            let presenter = PhenixChannelExpressFactory.createPublishToChannelOptionsBuilder()
                .withChannelOptions(room).withPublishOptions(publishing).withScreenName("primary")
                .buildPublishToChannelOptions()
            let published = Callback<(PhenixRequestStatus, PhenixRoomService?, PhenixExpressPublisher?)>()
            presenting.publishToChannel(presenter) { published.call(($0, $1, $2)) }
            let result = try await published.first()
            let (status, presented, publication) = try #require(result)
            #expect(status == .ok)
            let publisher = try #require(publication)
            let stage = try #require(presented)
            #expect(stage.observableSelf.value?.role == .presenter)
            let shown = try await watched.first { $0.hasStream }
            #expect(shown?.status == .ok)
            #expect(service.observableMembers.value.map(\.screenName) == ["primary"])
            #expect(service.observableMembers.value.first?.streams.first?.streamID?.description == publisher.streamId)
            publisher.disableAudio()
            #expect(
                try await eventually {
                    service.observableMembers.value.first?.streams.first?.audio == .disabled
                })

            let chat = Callback<(PhenixRequestStatus, String?)>()
            let subscription = service.chatService.subscribe(batchSize: 10) { chat.call(($0, $1?.text)) }
            let sent = Callback<PhenixRequestStatus>()
            // The message is in the history of the subscription, or follows it.
            stage.chatService.sendMessageToRoom("Hello") { sent.call($0) }
            let answer = try await sent.first()
            #expect(answer == .ok)
            let message = try await chat.first()
            #expect(message?.1 == "Hello")
            subscription.dispose()
            let history = Callback<[String]>()
            service.chatService.getMessages(30, nil) { history.call($1?.map(\.text) ?? []) }
            let earlier = try await history.first()
            #expect(earlier == ["Hello"])

            publisher.stop()
            let after = try await watched.first { !$0.hasStream }
            #expect(after?.status == .noStreamPlaying)
            #expect(try await eventually { service.observableMembers.value.isEmpty })
            for left in [service, stage] {
                let done = Callback<PhenixRequestStatus>()
                left.leaveRoom { done.call($1) }
                let status = try await done.first()
                #expect(status == .ok)
            }
            media.stop()
            for client in [presenting, viewing] { client.roomExpress.pcastExpress.dispose() }
        }
    }

    /// Values that survive the first platform.
    private final class Box {
        var room: Room?
        var pcast: PCast?
    }

    /// Returns the next messages, fewer if the stream ends.
    private func texts(_ messages: AsyncStream<RoomMessage>, count: Int) async -> [RoomMessage] {
        var seen: [RoomMessage] = []
        for await message in messages {
            seen.append(message)
            if seen.count == count { break }
        }
        return seen
    }
}

extension Room {
    /// Returns the listed member of a session; nil if there is none.
    fileprivate func member(_ session: SessionID) -> RoomMember? {
        members.value.first { $0.sessionID == session }
    }
}
