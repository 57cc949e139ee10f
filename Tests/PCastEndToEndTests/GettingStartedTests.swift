import Foundation
import PCast
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

        /// Runs `body` with the address of a platform.
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

        /// Returns a token for publishing, as the platform's article creates it.
        private func publishingToken() throws -> String {
            let expires = Int64(Date.now.timeIntervalSince1970 * 1_000) + 3_600_000
            let token = try EdgeTokenBuilder()
                .withApplicationId("my-application").withSecret("my-secret")
                .expiresAt(milliseconds: expires)
                .forPublishingOnly()
                .build()
            return token
        }

        @Test("the SDK's article publishes the test pattern, subscribes to it and saves a frame")
        func client() async throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).png").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await withPlatform { uri in
                let pcast = PCast(PCastOptions(uri: uri))
                try await pcast.start()
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                let publisher = try await pcast.publish(mediaStream: media.mediaStream, tags: ["getting-started"])
                let stream = try await pcast.subscribe(streamID: publisher.streamID)
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

        @Test("the SDK's article publishes and subscribes with the tokens of a backend")
        func tokens() async throws {
            let secret = "my-secret"
            let builder = EdgeTokenBuilder()
                .withApplicationId("my-application").withSecret(secret).expiresIn(.seconds(3_600))
            let authenticationToken = try builder.forAuthenticationOnly().build()
            let publishToken = try builder.forPublishingOnly().applyTag("getting-started").build()
            let streamToken = try builder.forStreamingOnly().forTag("getting-started").build()
            try await withPlatform { uri in
                let pcast = PCast(PCastOptions(uri: uri))
                let media = try await pcast.getUserMedia(UserMediaOptions(videoSource: "synthetic", audioSource: nil))
                try await pcast.start(authenticationToken: authenticationToken)
                let publisher = try await pcast.publish(streamToken: publishToken, mediaStream: media.mediaStream)
                let stream = try await pcast.subscribe(streamToken: streamToken, streamID: publisher.streamID)
                let renderer = stream.createRenderer(.nullDevices)
                try renderer.start()
                #expect(await renderer.firstFrame != nil)
                // A token that permits subscribing only does not permit publishing.
                let error = await #expect(throws: PCastError.self) {
                    try await pcast.publish(streamToken: streamToken, mediaStream: media.mediaStream)
                }
                #expect(error?.status == .unauthorized)
                await pcast.shutdown()
                media.stop()
            }
        }

        @Test("the player's article plays a stream of the platform's article until it is ready")
        func player() async throws {
            try await withPlatform { uri in
                let pcast = PCast(PCastOptions(uri: uri))
                try await pcast.start()
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                let publisher = try await pcast.publish(
                    streamToken: try publishingToken(), mediaStream: media.mediaStream, tags: [])
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
