import Foundation
import PCast
import PCastEdgeAuth
import PCastPlatform
import PCastPlayback
import Testing

extension EndToEnd {
    /// The programs of the articles "Getting started" of the DocC catalogs. `DocumentationCatalogTests` checks that the
    /// articles have these lines.
    @Suite("Getting started", .timeLimit(.minutes(5)))
    struct GettingStartedTests {
        struct GettingStartedError: Error {
            let description: String
        }

        /// Runs `body` with the address of a platform, and with tokens for a session, a publisher and a viewer.
        private func withPlatform(_ body: (String) async throws -> Void) async throws {
            let platform = Platform(
                PlatformConfiguration(
                    host: "127.0.0.1", port: 0, rtcPort: 0,
                    applications: [.init(id: .init("my-application"), secret: "my-secret")]))
            let (addresses, address) = AsyncStream<String>.makeStream()
            let running = Task {
                defer { address.finish() }
                try await platform.run { listening in address.yield(listening.uri) }
            }
            let uri = await addresses.first { _ in true }
            let result: Result<Void, any Error>
            do {
                try await body(try #require(uri))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            running.cancel()
            _ = await running.result
            try result.get()
        }

        private func token(_ type: String) throws -> String {
            let expires = Int64(Date.now.timeIntervalSince1970 * 1_000) + 3_600_000
            if type == "publish" {
                let token = try EdgeTokenBuilder()
                    .withApplicationId("my-application").withSecret("my-secret")
                    .expiresAt(milliseconds: expires)
                    .forPublishingOnly()
                    .build()
                return token
            }
            let builder = EdgeTokenBuilder().withApplicationId("my-application").withSecret("my-secret")
                .expiresAt(milliseconds: expires)
            return try (type == "auth" ? builder.forAuthenticationOnly() : builder.forStreamingOnly()).build()
        }

        @Test("the SDK's article publishes the test pattern, subscribes to it and saves a frame")
        func client() async throws {
            let (authenticationToken, publishToken) = (try token("auth"), try token("publish"))
            let streamToken = try token("stream")
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).png").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await withPlatform { uri in
                let pcast = PCast(PCastOptions(uri: uri))
                _ = try await pcast.start(authenticationToken: authenticationToken)
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                let publisher = try await pcast.publish(
                    streamToken: publishToken, mediaStream: media.mediaStream, tags: ["getting-started"])
                let stream = try await pcast.subscribe(streamToken: streamToken, streamID: publisher.streamID)
                let renderer = stream.createRenderer(.nullDevices)
                try renderer.start()
                guard await renderer.firstFrame != nil else {
                    throw await GettingStartedError(description: "no frame arrived: \(stream.ended.reasonDescription)")
                }
                let size = try await renderer.screenshot(to: file)
                #expect(size.width == 1280 && size.height == 720)
                #expect(FileManager.default.fileExists(atPath: file))
                renderer.stop()
                publisher.stop()
                media.stop()
                await pcast.shutdown()
            }
        }

        @Test("the player's article plays a stream of the platform's article until it is ready")
        func player() async throws {
            try await withPlatform { uri in
                let pcast = PCast(PCastOptions(uri: uri))
                _ = try await pcast.start(authenticationToken: try token("auth"))
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                let publisher = try await pcast.publish(
                    streamToken: try token("publish"), mediaStream: media.mediaStream, tags: [])
                try await play("\(uri)/watch/\(publisher.streamID)")
                publisher.stop()
                media.stop()
                await pcast.shutdown()
            }
        }

        private func play(_ address: String) async throws {
            var isReady = false
            let player = Player(.media(playsAudio: false))
            let events = player.events()
            player.set(video: Video(address), play: true)
            for await event in events {
                switch event.kind {
                case .ready: isReady = true
                case .error(let error): throw error
                default: continue
                }
                break
            }
            #expect(isReady && player.duration == .infinity)
            player.reset()
            await player.settled()
        }
    }
}
