import Foundation
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// Rooms and channels in the management API.
@Suite struct RoomManagementTests {
    private struct Room: Decodable {
        let roomId: String
        let alias: String
        let name: String
        let description: String
        let type: String
        let options: [String]
        let members: Int
        let audience: Int
    }

    private struct ChannelSet: Decodable {
        let status: String
        let channelId: String
        let channel: Room
    }

    private struct RoomSet: Decodable {
        let status: String
        let room: Room
    }

    private struct RoomList: Decodable {
        let rooms: [Room]
    }

    private struct MemberList: Decodable {
        struct Member: Decodable {
            struct Stream: Decodable {
                let streamId: String
                let type: String
                let audioState: String
            }

            let sessionId: String
            let screenName: String
            let role: String
            let streams: [Stream]
        }

        let members: [Member]
        let audience: Int
    }

    private struct Count: Decodable {
        let count: Int
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ answer: TestPlatform.Response) throws -> Value {
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(type, from: Data(answer.body.utf8))
    }

    /// Returns an identifier as a component of a path.
    private func path(_ id: String) throws -> String {
        try #require(id.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    }

    @Test("a channel is created once, listed and removed") func channel() async throws {
        try await TestPlatform.run { platform in
            let body = #"{"channel":{"alias":"demo","name":"Demo","description":"d","options":["x"]}}"#
            let created = try decoded(ChannelSet.self, try await platform.ask("PUT", "/pcast/channel", body))
            #expect(created.status == "ok")
            #expect(created.channelId.hasPrefix("local#first#demo."))
            #expect(created.channel.type == "Channel")
            #expect(created.channel.name == "Demo")
            #expect(created.channel.options == ["x"])
            let again = try decoded(
                ChannelSet.self, try await platform.ask("PUT", "/pcast/channel", #"{"channel":{"alias":"demo"}}"#))
            #expect(again.status == "already-exists")
            #expect(again.channelId == created.channelId)
            #expect(again.channel.description == "d")
            let room = try await platform.ask("PUT", "/pcast/room", #"{"room":{"alias":"demo"}}"#)
            #expect(room.status == 409)
            let list = try decoded(RoomList.self, try await platform.ask("GET", "/pcast/rooms"))
            #expect(list.rooms.map(\.roomId) == [created.channelId])
            let place = "/pcast/channel/" + (try path(created.channelId))
            let one = try decoded(RoomSet.self, try await platform.ask("GET", place))
            #expect(one.room.alias == "demo")
            #expect(try await platform.ask("DELETE", place).status == 200)
            #expect(try await platform.ask("DELETE", place).status == 404)
            #expect(try await platform.ask("GET", "/pcast/channel/demo").status == 404)
        }
    }

    @Test("members are listed, viewers are counted, and the end reaches all") func members() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.ask("PUT", "/pcast/channel", #"{"channel":{"alias":"demo"}}"#)
            try await ProtocolClient.run(platform) { viewer in
                _ = try await viewer.authenticate()
                _ = try await viewer.join("demo")
                try await ProtocolClient.run(platform) { publisher in
                    let session = try #require(try await publisher.authenticate())
                    let joined = try await publisher.join("demo", screenName: "Ann")
                    let stream = try #require(try await publisher.setUp(try Requests.publish()))
                    let update = try await publisher.update(
                        Rooms.update(
                            session, in: joined.room.roomID, role: .presenter, streams: [Rooms.stream(stream)],
                            lastUpdate: joined.self_p.lastUpdate))
                    #expect(update.status == "ok")
                    let list = try decoded(
                        MemberList.self, try await platform.ask("GET", "/pcast/channel/demo/members"))
                    #expect(list.audience == 1)
                    #expect(list.members.map(\.sessionId) == [session])
                    #expect(list.members.first?.screenName == "Ann")
                    #expect(list.members.first?.role == "Presenter")
                    #expect(list.members.first?.streams.first?.streamId == stream)
                    let count = try decoded(
                        Count.self, try await platform.ask("GET", "/pcast/channel/demo/publishers/count"))
                    #expect(count.count == 1)
                    let place = "/pcast/room/demo/member/" + (try path(session))
                    let mute = #"{"member":{"audioState":"TrackDisabled"}}"#
                    #expect(try await platform.ask("PUT", place, mute).status == 200)
                    let muted = try #require(try await viewer.event(2))
                    #expect(muted.eventType == .memberUpdated)
                    #expect(muted.members.first?.streams.first?.audioState == .trackDisabled)
                    #expect(muted.members.first?.streams.first?.videoState == .trackEnabled)
                    let wrong = #"{"member":{"audioState":"TrackEnded"}}"#
                    #expect(try await platform.ask("PUT", place, wrong).status == 400)
                    #expect(try await platform.ask("PUT", "/pcast/room/demo/member/none", mute).status == 404)
                    #expect(try await platform.ask("DELETE", "/pcast/channel/demo").status == 200)
                    #expect(try await viewer.event(3)?.eventType == .memberLeft)
                    #expect(try await viewer.event(4)?.eventType == .roomEnded)
                }
            }
        }
    }

    @Test("a backend sends messages to a room") func message() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.ask("PUT", "/pcast/room", #"{"room":{"alias":"talk","type":"MultiPartyChat"}}"#)
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                let id = try await client.join("talk").room.roomID
                #expect(try await client.fetch(id, subscribes: true).status == "ok")
                let body = #"{"message":{"from":{"screenName":"Desk","role":"Presenter"},"message":"hello"}}"#
                let place = "/pcast/room/" + (try path(id)) + "/message"
                #expect(try await platform.ask("PUT", place, body).status == 200)
                _ = try await eventually { await client.roomMessages.count == 1 }
                let message = try #require(await client.roomMessages.first?.message)
                #expect(message.message == "hello")
                #expect(message.from.screenName == "Desk")
                #expect(message.from.role == .presenter)
                #expect(!message.from.hasSessionID)
                let long = String(repeating: "ü", count: 600)
                let large = #"{"message":{"from":{"screenName":"Desk"},"message":"\#(long)"}}"#
                #expect(try await platform.ask("PUT", place, large).status == 409)
                #expect(try await platform.ask("PUT", "/pcast/room/none/message", body).status == 404)
            }
        }
    }

    @Test(
        "invalid rooms are a bad request",
        arguments: [
            #"{}"#, #"{"room":{}}"#, #"{"room":{"alias":""}}"#, #"{"room":{"alias":"a\nb"}}"#,
            #"{"room":{"alias":"a","type":"Castle"}}"#, #"{"room":{"alias":"a","name":""}}"#,
            #"{"room":{"alias":"a","options":[1]}}"#,
        ])
    func invalid(body: String) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.ask("PUT", "/pcast/room", body).status == 400)
        }
    }

    @Test("a room is invisible to other applications") func ownership() async throws {
        try await TestPlatform.run { platform in
            let body = #"{"channel":{"alias":"demo"}}"#
            let own = try decoded(ChannelSet.self, try await platform.ask("PUT", "/pcast/channel", body))
            let token = try Tokens.make(TestPlatform.otherApplication) { $0.forAuthenticationOnly() }
            try await ProtocolClient.run(platform) { other in
                _ = try #require(try await other.authenticate(token))
                // The same alias is another channel there.
                let created = try await other.createRoom("demo")
                #expect(created.status == "ok")
                #expect(created.room.roomID != own.channelId)
                #expect(try await other.join("", id: own.channelId).status == "not-found")
            }
            let list = try decoded(RoomList.self, try await platform.ask("GET", "/pcast/rooms"))
            #expect(list.rooms.map(\.roomId) == [own.channelId])
        }
    }

    @Test("rooms of a backend exist after a restart, and removed ones do not") func restart() async throws {
        try await withTemporaryDirectory { directory in
            let records = StorageConfiguration(directory: directory)
            var kept = ""
            try await TestPlatform.run(records: records) { platform in
                for alias in ["kept", "removed"] {
                    let body = #"{"channel":{"alias":"\#(alias)","options":["a","b"]}}"#
                    let created = try decoded(ChannelSet.self, try await platform.ask("PUT", "/pcast/channel", body))
                    if alias == "kept" { kept = created.channelId }
                }
                #expect(try await platform.ask("DELETE", "/pcast/channel/removed").status == 200)
            }
            try await TestPlatform.run(records: records) { platform in
                let list = try decoded(RoomList.self, try await platform.ask("GET", "/pcast/rooms"))
                #expect(list.rooms.map(\.roomId) == [kept])
                #expect(list.rooms.first?.options == ["a", "b"])
            }
        }
    }

    /// Runs a platform whose database is in a directory, with a client in its channel.
    private func inChannel(
        _ directory: String, keeping retention: Duration?,
        _ body: @Sendable (ProtocolClient, _ id: String) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(
            records: StorageConfiguration(directory: directory),
            configure: { $0.rooms.conversationRetention = retention }
        ) { platform in
            #expect(try await platform.ask("PUT", "/pcast/channel", #"{"channel":{"alias":"demo"}}"#).status == 200)
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                try await body(client, try await client.join("demo").room.roomID)
            }
        }
    }

    @Test("a conversation exists after a restart for its time, and pages go beyond the messages in memory")
    func conversation() async throws {
        try await withTemporaryDirectory { directory in
            let time = Duration.seconds(30 * 86_400)
            try await inChannel(directory, keeping: time) { client, id async throws in
                #expect(try await client.say("newest", in: id) == "ok")
            }
            let stored = 3 * 128
            do {
                // Sending as many would take longer than the rate permits.
                let records = try Records.open(directory)
                let room = try #require(try await records.rooms().first?.id)
                #expect(try await records.roomMessages(of: room, limit: 9).map(\.text) == ["newest"])
                let now = MonotonicClock.wallTime()
                try await records.record(
                    (0..<stored).map { number in
                        RecordChange.roomMessage(
                            RoomMessageRecord(
                                room: room, id: "pcast|0000000000000001|\(String(format: "%010d", number))", time: now,
                                session: nil, screenName: "Desk", role: 2, lastUpdate: 1, text: "\(number)"))
                    })
                records.release()
            }
            try await inChannel(directory, keeping: time) { client, id in
                var texts: [String] = []
                var bound = ""
                while true {
                    let page = try await client.fetch(id, before: bound, limit: 100).chatMessages
                    texts = page.map(\.message) + texts
                    guard page.count == 100, let first = page.first?.messageID else { break }
                    bound = first
                }
                #expect(texts == (0..<stored).map { "\($0)" } + ["newest"])
                let oldest = try await client.fetch(id, after: "pcast|", limit: 2).chatMessages
                #expect(oldest.map(\.message) == ["0", "1"])
                #expect(oldest.first?.from.screenName == "Desk")
                let former = try #require(try await client.fetch(id, limit: 1).chatMessages.first)
                #expect(try await client.say("later", in: id) == "ok")
                let last = try #require(
                    try await client.fetch(id, after: former.messageID, limit: 9).chatMessages.first)
                #expect(last.message == "later")
            }
            // Without the setting, nothing is kept.
            try await inChannel(directory, keeping: nil) { client, id async throws in
                #expect(try await client.fetch(id, limit: 100).chatMessages.isEmpty)
            }
            let records = try Records.open(directory)
            #expect(try await !records.hasRoomMessages())
        }
    }

    @Test("a publisher's tags of its channel count if the token requires one of them") func tags() async throws {
        try await TestPlatform.run { platform in
            let body = #"{"channel":{"alias":"demo"}}"#
            let channel = try decoded(ChannelSet.self, try await platform.ask("PUT", "/pcast/channel", body))
            let publishing = try Tokens.make { $0.forPublishingOnly().forChannelAlias("demo") }
            let tags = ["channelId:\(channel.channelId)", "channelAlias:demo", "channelAlias:other"]
            try await ProtocolClient.run(platform) { publisher in
                _ = try #require(try await publisher.authenticate(publishing))
                let stream = try #require(
                    try await publisher.setUp(try Requests.publish(publishing, tags: tags)))
                for (viewing, isPermitted) in [
                    (try Tokens.make { $0.forStreamingOnly().forChannel(channel.channelId) }, true),
                    (try Tokens.make { $0.forStreamingOnly().forChannelAlias("demo") }, true),
                    (try Tokens.make { $0.forStreamingOnly().forChannelAlias("other") }, false),
                ] {
                    try await ProtocolClient.run(platform) { viewer in
                        _ = try #require(try await viewer.authenticate(viewing))
                        let status = try await viewer.ask(try Requests.view(viewing, origin: stream))
                        #expect(status == (isPermitted ? RequestStatus.ok : RequestStatus.unauthorized))
                    }
                }
            }
        }
    }
}
