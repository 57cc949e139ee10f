import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PCastCore
import PCastPlatform
import PCastWebRTC
import Synchronization
import Testing

/// Three platforms: two origins of one name, and an edge of both.
@Suite("Origins of an edge that replace each other")
struct EdgeFailoverTests {
    /// The origins in the order of the test.
    private final class TestOrigins: StreamOrigins {
        private let known = Mutex<[StreamOrigin]>([])

        func set(_ origins: [StreamOrigin]) { known.withLock { $0 = origins } }

        func origins(of stream: StreamID, application: ApplicationID) async -> [StreamOrigin] { known.withLock { $0 } }
    }

    /// Sends the frames of a publisher until the test ends, except while it is off.
    private final class Sender: Sendable {
        let peer: FramePeer
        private let isOn = Mutex(true)

        init(first: UInt32) throws { peer = try FramePeer(.publish(video: .vp8, audio: true), first: first) }

        func setOn(_ isOn: Bool) { self.isOn.withLock { $0 = isOn } }

        func run() async throws {
            while !Task.isCancelled {
                if isOn.withLock({ $0 }) { try await peer.sendFrames() }
                try? await ContinuousClock().sleep(for: .milliseconds(10))
            }
        }
    }

    private static let secret = "a secret of the nodes"
    /// The first frame of the second origin.
    private static let secondFirst: UInt32 = 1_000_000

    /// Runs two origins that declare one name, and an edge, which may declare it too.
    private static func run(
        _ origins: TestOrigins, edgeDeclares: Bool = false, waiting: TimeSpan? = nil,
        _ body: ([TestPlatform], _ edge: TestPlatform) async throws -> Void
    ) async throws {
        var declaration = StreamDeclaration(name: "show")
        // The name does not close while its publisher is off.
        declaration.closeAfter = .seconds(3_600)
        let declared = try StreamDeclarations([declaration])
        let configure = { (configuration: inout PlatformConfiguration) in
            configuration.edges.secret = secret
            configuration.streams = declared
        }
        try await TestPlatform.runConfigured(configure: configure) { first in
            try await TestPlatform.runConfigured(configure: configure) { second in
                try await TestPlatform.runConfigured(
                    configure: { configuration in
                        configuration.edges.secret = secret
                        if edgeDeclares { configuration.streams = declared }
                        configuration.edges.directory = origins
                        configuration.edges.closeAfter = .seconds(3_600)
                        if let waiting { configuration.edges.timeLimits.waiting = waiting }
                    }
                ) { edge in try await body([first, second], edge) }
            }
        }
    }

    @Test("a viewer at an edge continues with another origin, with a higher epoch, and after the end of a link")
    func failover() async throws {
        let origins = TestOrigins()
        try await Self.run(origins) { platforms, edge in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
            let senders = [try Sender(first: 0), try Sender(first: Self.secondFirst)]
            for (sender, platform) in zip(senders, platforms) {
                _ = try await sender.peer.publish(to: platform, token: token)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sender in senders { group.addTask { try await sender.run() } }
                try await Self.check(origins, senders, platforms, edge)
                group.cancelAll()
            }
        }
    }

    private static func check(
        _ origins: TestOrigins, _ senders: [Sender], _ platforms: [TestPlatform], _ edge: TestPlatform
    ) async throws {
        for platform in platforms { try await waitUntilLive(platform) }
        let (first, second) = (platforms[0].uri, platforms[1].uri)
        let viewer = try FramePeer.viewer()
        let isSecond = { viewer.videoNumbers.last.map { $0 >= secondFirst } }
        origins.set([StreamOrigin(uri: first, epoch: 1)])
        let resource = try await viewer.view("show", at: edge)
        #expect(try await eventually { isSecond() == false }, "the viewer receives the first origin")
        let streams = await edge.platform.streams().map(\.id)
        #expect(streams.count == 1)

        // The first origin is silent, and another one is known.
        senders[0].setOn(false)
        origins.set([StreamOrigin(uri: first, epoch: 1), StreamOrigin(uri: second, epoch: 1)])
        #expect(try await eventually { isSecond() == true }, "the viewer receives the second origin")

        // The first origin has the stream with a higher epoch. Both send.
        senders[0].setOn(true)
        origins.set([StreamOrigin(uri: second, epoch: 1), StreamOrigin(uri: first, epoch: 2)])
        #expect(try await eventually { isSecond() == false }, "the viewer receives the higher epoch")

        // The stream ends at the first origin.
        origins.set([StreamOrigin(uri: second, epoch: 2)])
        #expect(await platforms[0].platform.end(StreamID("show")))
        #expect(try await eventually { isSecond() == true }, "the viewer receives the second origin again")

        let audioCount = viewer.audioCount
        #expect(try await eventually { viewer.audioCount > audioCount }, "audio continues too")
        #expect(!viewer.isClosed)
        #expect(try await edge.send("GET", resource).status == 204)
        #expect(await edge.platform.streams().map(\.id) == streams, "viewers see one stream")
    }

    @Test("a stream that continued from another origin ends with the reason of that origin", .timeLimit(.minutes(5)))
    func reason() async throws {
        let origins = TestOrigins()
        // No other origin appears after the end.
        try await Self.run(origins, waiting: .milliseconds(10)) { platforms, edge in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
            let senders = [try Sender(first: 0), try Sender(first: Self.secondFirst)]
            for (sender, platform) in zip(senders, platforms) {
                _ = try await sender.peer.publish(to: platform, token: token)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for sender in senders { group.addTask { try await sender.run() } }
                for platform in platforms { try await Self.waitUntilLive(platform) }
                let (first, second) = (platforms[0].uri, platforms[1].uri)
                let viewer = try FramePeer.viewer()
                origins.set([StreamOrigin(uri: first, epoch: 1)])
                let resource = try await viewer.view("show", at: edge)
                #expect(try await eventually { viewer.videoNumbers.last.map { $0 < Self.secondFirst } == true })
                senders[0].setOn(false)
                origins.set([StreamOrigin(uri: first, epoch: 1), StreamOrigin(uri: second, epoch: 1)])
                #expect(try await eventually { viewer.videoNumbers.last.map { $0 >= Self.secondFirst } == true })

                let events = try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: "\(edge.uri)\(resource)/events"), timeout: .hours(1))
                try #require(events.status == .ok)
                origins.set([])
                let hasEnded = await platforms[1].platform.end(
                    StreamID("show"), reason: .custom, description: "the game is over")
                #expect(hasEnded)
                var text = ""
                for try await bytes in events.body { text += String(buffer: bytes) }
                #expect(text.contains("event: ended") && text.contains("the game is over"), "\(text)")
                #expect(try await eventually { viewer.isClosed })
                group.cancelAll()
            }
        }
    }

    @Test("viewers that request a stream by its name and by its identifier at the same time receive one link")
    func names() async throws {
        let origins = TestOrigins()
        try await Self.run(origins) { platforms, edge in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
            let sender = try Sender(first: 0)
            _ = try await sender.peer.publish(to: platforms[0], token: token)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await sender.run() }
                try await Self.waitUntilLive(platforms[0])
                let body = try await platforms[0].ask("GET", "/pcast/names").body
                let names = try JSONDecoder().decode(NameList.self, from: Data(body.utf8)).names
                let stream = try #require(names.first?.streamId)
                origins.set([StreamOrigin(uri: platforms[0].uri, epoch: 1)])
                let viewers = [try FramePeer.viewer(), try FramePeer.viewer()]
                async let byName = viewers[0].view("show", at: edge)
                async let byIdentifier = viewers[1].view(stream, at: edge)
                _ = try await (byName, byIdentifier)
                for viewer in viewers { #expect(try await eventually { !viewer.videoNumbers.isEmpty }) }
                #expect(await edge.platform.streams().map(\.id) == [StreamID(stream)])
                group.cancelAll()
            }
        }
    }

    private struct NameList: Decodable {
        struct Name: Decodable { let streamId: String? }

        let names: [Name]
    }

    private static func waitUntilLive(_ platform: TestPlatform) async throws {
        let isLive = try await eventually {
            try await platform.ask("GET", "/pcast/names").body.contains(#""state":"live""#)
        }
        try #require(isLive)
    }

    @Test("a viewer at an edge continues with the publication of the same node, and returns to the current origin")
    func own() async throws {
        let origins = TestOrigins()
        try await Self.run(origins, edgeDeclares: true) { platforms, edge in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("name:show") }
            let senders = [try Sender(first: 0), try Sender(first: Self.secondFirst)]
            _ = try await senders[0].peer.publish(to: platforms[0], token: token)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await senders[0].run() }
                try await Self.waitUntilLive(platforms[0])
                let first = StreamOrigin(uri: platforms[0].uri, epoch: 1)
                origins.set([first])
                let viewer = try FramePeer.viewer()
                let resource = try await viewer.view("show", at: edge)
                #expect(try await eventually { !viewer.videoNumbers.isEmpty })

                // A second encoder publishes the name at the edge. It stands by.
                _ = try await senders[1].peer.publish(to: edge, token: token)
                group.addTask { try await senders[1].run() }
                try await Self.waitUntilLive(edge)
                let late = try FramePeer.viewer()
                _ = try await late.view("show", at: edge)
                #expect(try await eventually { !late.videoNumbers.isEmpty })
                let numbers = viewer.videoNumbers + late.videoNumbers
                #expect(numbers.allSatisfy { $0 < Self.secondFirst }, "all viewers receive the first origin")

                // The first origin is silent.
                var own = StreamOrigin(uri: edge.uri, epoch: 1)
                own.isThisNode = true
                senders[0].setOn(false)
                origins.set([first, own])
                for peer in [viewer, late] {
                    #expect(try await eventually { peer.videoNumbers.last.map { $0 >= Self.secondFirst } == true })
                }

                // The first origin has claimed the name again. Both send.
                senders[0].setOn(true)
                own.epoch = 2
                origins.set([StreamOrigin(uri: platforms[0].uri, epoch: 2), own])
                for peer in [viewer, late] {
                    #expect(try await eventually { peer.videoNumbers.last.map { $0 < Self.secondFirst } == true })
                }
                #expect(!viewer.isClosed && !late.isClosed)
                #expect(try await edge.send("GET", resource).status == 204)
                group.cancelAll()
            }
        }
    }
}
