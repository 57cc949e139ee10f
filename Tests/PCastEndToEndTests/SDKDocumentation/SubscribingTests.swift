import PCast
import PCastCompatibility
import PCastCore
import PCastEdgeAuth
import Testing

extension EndToEnd.SDKDocumentation {
    @Suite("Subscribing")
    struct SubscribingTests {
        @Test(
            "streamToken: The publish token is generated using the Phenix EdgeAuth library",
            .enabled(if: ThisMachine.hasEdgeAuth), .timeLimit(.minutes(5)))
        func edgeAuth() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let token = try await shared.publicToken("streaming", published.publisher.streamID)
            let viewer = try await shared.client()
            let stream = try await viewer.subscribe(streamToken: token)
            #expect(stream.endedInfo == nil)
            await viewer.shutdown()
            await published.close()
        }

        @Test("subscribeCallback: Called upon completion of the operation", .timeLimit(.minutes(5)))
        func callback() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let pcast = try await shared.client()
            let tokens = [
                try shared.viewingToken(published.publisher.streamID), try shared.publishingToken,
                try shared.viewingToken(StreamID("stream-of-nobody")),
            ]
            let expected = [RequestStatus.ok, .unauthorized, .noStreamPlaying]
            for (token, status) in zip(tokens, expected) {
                let received = Awaited<(status: RequestStatus, hasStream: Bool)>()
                pcast.subscribe(streamToken: token) { received.add(($1, $2 != nil)) }
                let answer = await received.first()
                #expect(answer?.status == status)
                #expect(answer?.hasStream == (status == .ok))
                #expect(received.values.count == 1)
            }
            await pcast.shutdown()
            await published.close()
        }

        @Test("Check status and store 'mediaStream'", .timeLimit(.minutes(5)))
        func mediaStream() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish(hasSlice: true)
            let watched = try await shared.watch(published.publisher.streamID)
            #expect(watched.stream.videoTracks.count == 1)
            #expect(watched.stream.audioTracks.count == 1)
            #expect(watched.stream.endedInfo == nil)
            await watched.close()
            await published.close()
        }

        @Test("Attach stream ended callback", .timeLimit(.minutes(5)))
        func endedCallback() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            let received = Awaited<String>()
            watched.stream.setStreamEndedCallback { received.add("\($1) \($2)") }
            published.publisher.stop(reason: "the end of the show")
            #expect(await received.first() == "custom the end of the show")
            await watched.close()
            await published.close()
            #expect(received.values.count == 1)
        }

        @Test("To stop later: [mediaStream stop]", .timeLimit(.minutes(5)))
        func stop() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let watched = try await shared.watch(published.publisher.streamID)
            let other = try await shared.watch(published.publisher.streamID)
            watched.stream.stop()
            let info = await watched.stream.ended
            #expect(info.reason == .ended && info.ender == .stop)
            // It has no effect on others.
            #expect(other.stream.endedInfo == nil)
            #expect(!published.publisher.hasEnded)
            await watched.close()
            await other.close()
            await published.close()
        }
    }
}
