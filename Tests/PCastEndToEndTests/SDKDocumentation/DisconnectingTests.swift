import PCast
import PCastCompatibility
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
