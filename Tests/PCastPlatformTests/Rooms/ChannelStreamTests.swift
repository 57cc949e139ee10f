import Foundation
import PCastCore
import PCastHLS
import PCastPlatform
import PCastSignaling
import PCastWebRTC
import Synchronization
import Testing

/// Viewers of channels' names, who keep their session while the presenters of a real platform change.
@Suite("Streams of channels", .timeLimit(.minutes(10)))
struct ChannelStreamTests {
    /// A presenter, which sends frames until the test ends.
    private final class Presenter: Sendable {
        let client: ProtocolClient
        let peer: FramePeer
        let session: String
        let room: String
        private let lastUpdate: Mutex<UInt64>

        private init(_ client: ProtocolClient, _ peer: FramePeer, _ session: String, _ joined: ChatJoinRoomResponse) {
            (self.client, self.peer, self.session) = (client, peer, session)
            room = joined.room.roomID
            lastUpdate = Mutex(joined.self_p.lastUpdate)
        }

        /// Enters a channel without a stream.
        static func join(
            _ client: ProtocolClient, _ peer: FramePeer, screenName: String = "a"
        ) async throws -> Presenter {
            let session = try #require(try await client.authenticate())
            return Presenter(client, peer, session, try await client.join("demo", screenName: screenName))
        }

        /// Publishes a stream. Returns its identifier.
        func publish() async throws -> String {
            let request = Requests.setUp("", offer: peer.offer, origin: nil)
            guard case .setupStream(let response)? = try await client.response(request) else {
                throw PublishingFailure()
            }
            try #require(response.status == "ok")
            let created = response.createStreamResponse
            try await peer.connect(created.createAnswerDescriptionResponse.sessionDescription.sdp)
            #expect(try await eventually { peer.isConnected })
            return created.streamID
        }

        /// Announces streams as a presenter, or leaves the presenters without one.
        func announce(_ streams: [ChatStream]) async throws {
            let response = try await client.update(
                Rooms.update(
                    session, in: room, role: streams.isEmpty ? .audience : .presenter, streams: streams,
                    lastUpdate: lastUpdate.withLock { $0 }))
            try #require(response.status == "ok")
            lastUpdate.withLock { $0 = response.lastUpdate }
        }

        struct PublishingFailure: Error {}
    }

    /// The first frames of the presenters of a test, by which their frames differ.
    private static let firsts: [UInt32] = [0, 1_000_000, 2_000_000]

    /// Runs `body` with presenters that have entered the channel `demo`, and send frames as soon as they are connected.
    private static func run(
        _ names: [String], at platform: TestPlatform, _ peers: [FramePeer]? = nil,
        _ body: @escaping @Sendable ([Presenter]) async throws -> Void
    ) async throws {
        let all =
            try peers
            ?? names.indices.map { try FramePeer(.publish(video: .vp8, audio: true), first: firsts[$0]) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for peer in all {
                group.addTask {
                    while !Task.isCancelled {
                        if peer.isConnected { try await peer.sendFrames() }
                        try? await ContinuousClock().sleep(for: .milliseconds(10))
                    }
                }
            }
            try await join(ArraySlice(zip(names, all)), [], at: platform, body)
            group.cancelAll()
        }
    }

    private static func join(
        _ rest: ArraySlice<(String, FramePeer)>, _ presenters: [Presenter], at platform: TestPlatform,
        _ body: @escaping @Sendable ([Presenter]) async throws -> Void
    ) async throws {
        guard let (name, peer) = rest.first else { return try await body(presenters) }
        let others = rest.dropFirst()
        try await ProtocolClient.run(platform) { client in
            let presenter = try await Presenter.join(client, peer, screenName: name)
            try await join(others, presenters + [presenter], at: platform, body)
        }
    }

    /// Returns whether a viewer receives the frames of a presenter now.
    private static func receives(_ number: Int, _ viewer: FramePeer) -> Bool {
        guard let last = viewer.videoNumbers.last else { return false }
        return firsts.lastIndex { $0 <= last } == number
    }

    /// Waits until a viewer receives the frames of a presenter.
    private static func follows(_ number: Int, _ viewer: FramePeer) async throws -> Bool {
        try await eventually { receives(number, viewer) }
    }

    /// Waits until a viewer has received further frames.
    private static func receivesMore(_ viewer: FramePeer, _ count: Int = 50) async throws -> Bool {
        let before = viewer.videoNumbers.count
        return try await eventually { viewer.videoNumbers.count >= before + count }
    }

    /// Returns the number of viewers of a stream.
    private static func viewers(_ stream: String, _ platform: TestPlatform) async -> Int? {
        await platform.platform.streams().first { $0.id == StreamID(stream) }?.viewers
    }

    /// Returns the streams of a platform that belong to no session: those of channels.
    private static func channelStreams(_ platform: TestPlatform) async -> [String] {
        await platform.platform.streams().filter { $0.session == nil }.map(\.id.description)
    }

    @Test("a WHEP viewer keeps the session while presenters come, mute, leave and return")
    func mostRecent() async throws {
        try await TestPlatform.run { platform in
            try await Self.run(["a", "b"], at: platform) { presenters in
                let (first, second) = (presenters[0], presenters[1])
                let viewer = try FramePeer.viewer()
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
                let one = try await first.publish()
                // A stream that nobody announces is not that of the channel.
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
                try await first.announce([Rooms.stream(one)])
                let resource = try await viewer.view("demo", at: platform)
                #expect(try await Self.follows(0, viewer))
                let streams = await Self.channelStreams(platform)
                #expect(streams.count == 1)

                // The newest presenter takes over.
                let two = try await second.publish()
                try await second.announce([Rooms.stream(two)])
                #expect(try await Self.follows(1, viewer))
                // A change of the mute state is the newest one.
                try await first.announce([Rooms.stream(one, audio: .trackDisabled)])
                #expect(try await Self.follows(0, viewer))
                try await second.announce([Rooms.stream(two, audio: .trackDisabled)])
                #expect(try await Self.follows(1, viewer))
                // A stream that is not announced any more is not presented, although it continues.
                try await second.announce([])
                #expect(try await Self.follows(0, viewer))

                // Nobody presents for a while. The stream of the former presenter continues without the viewer.
                try await first.announce([])
                #expect(
                    try await eventually {
                        let (received, next) = (viewer.videoNumbers.count, first.peer.nextNumber)
                        return try await eventually { first.peer.nextNumber > next + 50 }
                            && viewer.videoNumbers.count == received
                    })
                #expect(try await first.client.ask(Requests.destroy(one, reason: "ended")) == .ok)
                #expect(try await eventually { await Self.viewers(one, platform) == nil })
                #expect(try await platform.send("GET", resource).status == 204)
                // Others may join meanwhile.
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 201)
                try await second.announce([Rooms.stream(two)])
                #expect(try await Self.follows(1, viewer))
                #expect(try await Self.receivesMore(viewer))

                let audioCount = viewer.audioCount
                #expect(try await eventually { viewer.audioCount > audioCount })
                #expect(!viewer.isClosed)
                #expect(try await platform.send("GET", resource).status == 204)
                #expect(await Self.channelStreams(platform) == streams)
                #expect(await Self.viewers(streams[0], platform) == 2)
                #expect(await Self.viewers(two, platform) == 0)
            }
        }
    }

    @Test("viewers who connect before anybody presents receive the first presenter in their session, and the next one")
    func awaited() async throws {
        try await TestPlatform.run { platform in
            let address = "/whep/demo?await=presenter"
            // There is no such channel yet.
            #expect(try await platform.post(address, try Offers.viewer()).status == 422)
            try await Self.run(["a", "b"], at: platform) { presenters in
                let viewer = try FramePeer.viewer()
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
                let resource = try await viewer.view("demo?await=most-recent", at: platform)
                #expect(try await eventually { viewer.isConnected })
                let streams = await Self.channelStreams(platform)
                #expect(streams.count == 1)
                // The stream exists, so others may join as well.
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 201)
                let kept = try await platform.post("/whep/demo?await=high-availability", try Offers.viewer())
                #expect(kept.status == 422)
                let foreign = try Tokens.make { $0.forStreamingOnly().forChannelAlias("other") }
                #expect(try await platform.post(address, try Offers.viewer(), token: foreign).status == 401)

                let one = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(one)])
                #expect(try await Self.follows(0, viewer))
                let audioCount = viewer.audioCount
                #expect(try await eventually { viewer.audioCount > audioCount })
                let two = try await presenters[1].publish()
                try await presenters[1].announce([Rooms.stream(two)])
                #expect(try await Self.follows(1, viewer))
                try await presenters[1].announce([])
                #expect(try await Self.follows(0, viewer))
                #expect(try await platform.send("GET", resource).status == 204)
                #expect(!viewer.isClosed)
                #expect(await Self.channelStreams(platform) == streams)
                #expect(try await platform.ask("DELETE", "/pcast/channel/demo").status == 200)
                #expect(try await eventually { viewer.isClosed })
                #expect(try await platform.post(address, try Offers.viewer()).status == 422)
            }
        }
    }

    @Test("viewers who connect first receive a presenter without audio, and then one with audio, in one session")
    func awaitedTracks() async throws {
        try await TestPlatform.run { platform in
            let peers = [
                try FramePeer(.publish(video: .h264, audio: false)),
                try FramePeer(.publish(video: .vp8, audio: true), first: Self.firsts[1]),
            ]
            try await Self.run(["a", "b"], at: platform, peers) { presenters in
                let one = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(one)])
                let viewer = try FramePeer.viewer()
                let resource = try await viewer.view("demo?await=presenter", at: platform)
                #expect(try await eventually { viewer.isConnected })
                let two = try await presenters[1].publish()
                try await presenters[1].announce([Rooms.stream(two)])
                #expect(try await Self.follows(1, viewer))
                #expect(try await eventually { viewer.audioCount > 0 })
                #expect(try await platform.send("GET", resource).status == 204)
            }
        }
    }

    @Test("with high availability, viewers keep their presenter until it ends, and a deleted channel ends them")
    func highAvailability() async throws {
        try await TestPlatform.run { platform in
            let created = try await platform.ask(
                "PUT", "/pcast/channel", #"{"channel":{"alias":"demo","options":["high-availability"]}}"#)
            #expect(created.status == 200)
            try await Self.run(["b", "alternate", "primary"], at: platform) { presenters in
                let viewer = try FramePeer.viewer()
                let one = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(one)])
                let resource = try await viewer.view("demo", at: platform)
                #expect(try await Self.follows(0, viewer))
                let streams = await Self.channelStreams(platform)
                // The last one is not the newest.
                for presenter in presenters.dropFirst().reversed() {
                    let stream = try await presenter.publish()
                    try await presenter.announce([Rooms.stream(stream)])
                }
                #expect(try await Self.receivesMore(viewer))
                #expect(Self.receives(0, viewer))
                // The presenter's name decides who follows, and not the time of the change.
                #expect(try await presenters[0].client.ask(Requests.destroy(one, reason: "ended")) == .ok)
                #expect(try await Self.follows(2, viewer))
                #expect(try await Self.receivesMore(viewer))
                #expect(Self.receives(2, viewer))
                #expect(try await platform.send("GET", resource).status == 204)
                #expect(await Self.channelStreams(platform) == streams)

                #expect(try await platform.ask("DELETE", "/pcast/channel/demo").status == 200)
                #expect(try await eventually { viewer.isClosed })
                #expect(try await eventually { try await platform.send("GET", resource).status != 204 })
                #expect(try await eventually { await Self.channelStreams(platform).isEmpty })
                #expect(try await platform.post("/whep/demo", try Offers.viewer()).status == 409)
            }
        }
    }

    @Test("a viewer keeps the session for a presenter in another codec, and not for one with a further track")
    func otherTracks() async throws {
        try await TestPlatform.run { platform in
            let peers = [
                try FramePeer(.publish(video: .h264, audio: false)),
                try FramePeer(.publish(video: .vp8, audio: false), first: Self.firsts[1]),
                try FramePeer(.publish(video: .vp8, audio: true), first: Self.firsts[2]),
            ]
            try await Self.run(["a", "b", "c"], at: platform, peers) { presenters in
                let one = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(one)])
                let former = try FramePeer.viewer()
                let resource = try await former.view("demo", at: platform)
                #expect(try await eventually { former.isConnected })
                let two = try await presenters[1].publish()
                try await presenters[1].announce([Rooms.stream(two)])
                #expect(try await Self.follows(1, former))
                #expect(try await platform.send("GET", resource).status == 204)
                let three = try await presenters[2].publish()
                try await presenters[2].announce([Rooms.stream(three)])
                #expect(try await eventually { former.isClosed })
                let viewer = try FramePeer.viewer()
                _ = try await viewer.view("demo", at: platform)
                #expect(try await Self.follows(2, viewer))
            }
        }
    }

    @Test("a token for a presenter's tag permits only that presenter, and one for the channel whoever presents")
    func access() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let joined = try await client.join("demo")
                let stream = try #require(try await client.setUp(try Requests.publish(tags: ["camera"])))
                let announced = try await client.update(
                    Rooms.update(
                        session, in: joined.room.roomID, role: .presenter, streams: [Rooms.stream(stream)],
                        lastUpdate: joined.self_p.lastUpdate))
                #expect(announced.status == "ok")
                func view(_ token: String) async throws -> Int {
                    try await platform.post("/whep/demo", try Offers.viewer(), token: token).status
                }
                #expect(try await view(try Tokens.make { $0.forStreamingOnly().forTag("camera") }) == 201)
                #expect(await Self.viewers(stream, platform) == 1)
                #expect(await Self.channelStreams(platform).isEmpty)
                #expect(try await view(try Tokens.make { $0.forStreamingOnly().forChannelAlias("demo") }) == 201)
                #expect(try await view(try Tokens.make { $0.forStreamingOnly().forOriginStream("demo") }) == 201)
                let own = try #require(await Self.channelStreams(platform).first)
                #expect(await Self.viewers(own, platform) == 2)
                #expect(await Self.viewers(stream, platform) == 1)
                #expect(try await view(try Tokens.make { $0.forStreamingOnly().forChannelAlias("other") }) == 401)
                // The stream of the channel is received by the channel's name only.
                #expect(try await platform.post("/whep", try Offers.viewer()).status == 201)
                #expect(await Self.viewers(stream, platform) == 2)
            }
        }
    }

    @Test("without a place for another stream, viewers of a channel's name receive the presenter's stream")
    func limits() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.streams] = 1 }) { platform in
            try await Self.run(["a"], at: platform) { presenters in
                let stream = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(stream)])
                let viewer = try FramePeer.viewer()
                _ = try await viewer.view("demo", at: platform)
                #expect(try await Self.follows(0, viewer))
                #expect(await Self.viewers(stream, platform) == 1)
                #expect(await Self.channelStreams(platform).isEmpty)
            }
        }
    }

    @Test("an HLS viewer keeps the playlists while a presenter leaves and another one takes over")
    func playlists() async throws {
        try await TestPlatform.runConfigured { configuration in
            configuration.hls.packagesEveryStream = true
        } _: { platform in
            let peers = try [UInt8(0x1F), 0x1E].map { try FramePeer(.publish(video: .h264, audio: false), level: $0) }
            try await Self.run(["a", "b"], at: platform, peers) { presenters in
                let one = try await presenters[0].publish()
                try await presenters[0].announce([Rooms.stream(one)])
                let index = "/video/demo/index.m3u8"
                #expect(try await eventually { try await platform.send("GET", index).status == 200 })
                let variants = try MultivariantPlaylist(try await platform.send("GET", index).body).variants
                let uri = try #require(variants.first?.uri)
                #expect(uri.hasPrefix("../"))
                let address = "/video/" + uri.dropFirst(3)
                let own = try #require(await Self.channelStreams(platform).first)
                #expect(address.hasPrefix("/video/\(own)/"))
                #expect(try await Self.ends(address, platform) == false)

                let before = try await Self.initializations(address, platform)
                #expect(!before.isEmpty)
                try await presenters[0].announce([])
                #expect(try await presenters[0].client.ask(Requests.destroy(one, reason: "ended")) == .ok)
                #expect(try await eventually { await Self.viewers(one, platform) == nil })
                let two = try await presenters[1].publish()
                try await presenters[1].announce([Rooms.stream(two)])
                // The parameter sets of the second presenter need another initialization segment.
                #expect(
                    try await eventually {
                        try await Self.initializations(address, platform).contains { !before.contains($0) }
                    })
                let number = try await Self.nextNumber(address, platform)
                #expect(try await eventually { try await Self.nextNumber(address, platform) > number + 1 })
                #expect(try await Self.ends(address, platform) == false)
                #expect(await Self.channelStreams(platform) == [own])

                #expect(try await platform.ask("DELETE", "/pcast/channel/demo").status == 200)
                #expect(try await eventually { try await Self.ends(address, platform) })
            }
        }
    }

    /// Returns the media playlist at an address.
    private static func playlist(_ address: String, _ platform: TestPlatform) async throws -> String {
        let response = try await platform.send("GET", address)
        try #require(response.status == 200, "\(response.status) \(response.body)")
        return response.body
    }

    /// Returns the initialization segments of a playlist.
    private static func initializations(_ address: String, _ platform: TestPlatform) async throws -> Set<String> {
        let lines = try await playlist(address, platform).split(separator: "\n")
        return Set(lines.filter { $0.hasPrefix("#EXT-X-MAP:") }.map(String.init))
    }

    private static func ends(_ address: String, _ platform: TestPlatform) async throws -> Bool {
        try MediaPlaylist(try await playlist(address, platform)).isComplete
    }

    /// Returns the number of the segment that follows those of a playlist.
    private static func nextNumber(_ address: String, _ platform: TestPlatform) async throws -> Int64 {
        let playlist = try MediaPlaylist(try await playlist(address, platform))
        return playlist.mediaSequence + Int64(playlist.segments.count)
    }
}
