import PCast
import PCastCore
import Synchronization
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Disconnecting")
    struct DisconnectingTests {
        @Test("[pcast stop]", .timeLimit(.minutes(5)))
        func stop() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            await published.pcast.stop()
            #expect(published.pcast.sessionID == nil)
            #expect(published.publisher.endedInfo?.reason == .pcastStop)
            #expect(await watched.stream.ended.reason == .pcastStop)
            // After a restart the client works as before.
            _ = try await published.pcast.start(authenticationToken: try shared.authenticationToken)
            await published.close()
            await watched.close()
        }

        @Test(
            "after the end of a stop nothing more is reported, also not of streams that were stopped before",
            .timeLimit(.minutes(5)))
        func quiet() async throws {
            let shared = try SharedPlatform.current()
            for _ in 0..<20 {
                let published = try await shared.publish()
                let received = Mutex(false)
                published.publisher.setPublisherEndedCallback { _, _, _ in received.withLock { $0 = true } }
                published.publisher.stop()
                await published.pcast.stop()
                #expect(received.withLock { $0 })
                await published.close()
            }
        }

        @Test("Once you are done using PCast (e.g. exiting the app): [pcast shutdown]", .timeLimit(.minutes(5)))
        func shutdown() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            await published.pcast.shutdown()
            await published.pcast.shutdown()
            await published.pcast.stop()
            #expect(await watched.stream.ended.reason == .pcastStop)
            await #expect {
                try await published.pcast.start(authenticationToken: try shared.authenticationToken)
            } throws: { ($0 as? PCastError)?.status == .gone }
            published.media.stop()
            await watched.close()
        }
    }
}

extension EndToEnd.SDKDocumentation {
    @Suite("Dimension changes")
    struct DimensionTests {
        /// Changes the frame size during the viewing, like a camera that is switched or a device that is rotated.
        private func sizes(_ changes: [Dimensions]) async throws -> [Dimensions] {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish(hasSlice: true)
            let watched = try await shared.watch(published.publisher.streamID)
            let renderer = watched.stream.createRenderer(.nullDevices)
            let received = Awaited<Dimensions>()
            renderer.setVideoDisplayDimensionsChangedCallback { _, size in received.add(size) }
            #expect(renderer.start() == .ok)
            #expect(await received.first() == Dimensions(width: 320, height: 180))
            for size in changes {
                try await published.media.applyOptions(
                    UserMediaOptions(video: .synthetic, audio: .synthetic, dimensions: size))
                #expect(await received.first { $0 == size } == size)
                #expect(renderer.videoDisplayDimensions == size)
            }
            await watched.close()
            await published.close()
            return received.values
        }

        @Test("Cameras may be switched at runtime and devices may be rotated.", .timeLimit(.minutes(5)))
        func switched() async throws {
            let turned = Dimensions(width: 180, height: 320)
            #expect(try await sizes([turned]).last == turned)
        }

        @Test(
            "Register a handler to receive a notification whenever the video dimension changes.",
            .timeLimit(.minutes(5)))
        func notified() async throws {
            let larger = Dimensions(width: 640, height: 360)
            #expect(try await sizes([larger]) == [Dimensions(width: 320, height: 180), larger])
        }

        @Test("Can get called multiple times while rendering a stream", .timeLimit(.minutes(5)))
        func multiple() async throws {
            let changes = [Dimensions(width: 640, height: 360), Dimensions(width: 480, height: 270)]
            #expect(try await sizes(changes) == [Dimensions(width: 320, height: 180)] + changes)
        }
    }
}

extension EndToEnd {
    /// Phenix's documentation of its SDK: each of its sentences that can be turned into a call is the name of a test
    /// (docs/migrate/phenix.md). The SDK runs in the tests' process, the platform in one of its own.
    @Suite("The SDK's documentation", .sharedPlatform)
    enum SDKDocumentation {}
}
