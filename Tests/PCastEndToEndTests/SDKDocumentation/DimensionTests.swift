import PCast
import PCastCompatibility
import PCastCore
import Testing

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
