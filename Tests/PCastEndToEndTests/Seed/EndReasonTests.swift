import Foundation
import PCast
import PCastMedia
import Testing

extension EndToEnd.Seed {
    /// Each reason for which a stream ends, caused for real: publisher, viewer and backend are told the same.
    @Suite("End reasons")
    struct EndReasonTests {
        @Test("A stream ends, and everyone is told the same reason", .timeLimit(.minutes(1)), arguments: EndReason.all)
        func reasons(reason: EndReason) async throws { try await reason.check(on: try SharedPlatform.current()) }

        @Test("A platform that is asked to end says “maintenance” to all", .timeLimit(.minutes(1)))
        func maintenance() async throws {
            try await Workplace.run { place in
                let shared = try await SharedPlatform.start(in: place)
                let published = try await shared.publish()
                let watched = try await shared.watch(published.publisher.streamID)
                shared.platform.program.send(SIGTERM)
                #expect(await published.publisher.ended.reason == .maintenance)
                #expect(await watched.stream.ended.reason == .maintenance)
                if shared.backend != nil {
                    let told = try await shared.notification("ended", of: published.publisher.streamID)
                    #expect(told["data"]["reason"].text == "maintenance")
                }
                #expect(try await shared.platform.program.exitStatus(within: .seconds(30)) == 0)
                await watched.close()
                await published.close()
            }
        }

        @Test("A publisher's process that is killed has failed, to its viewer and the backend", .timeLimit(.minutes(2)))
        func killed() async throws {
            let shared = try SharedPlatform.current()
            let publisher = try shared.platform.place.start(
                BuiltProgram.path("PublishExample"),
                [shared.platform.uri, try shared.authenticationToken, try shared.publishingToken, "synthetic"])
            let line = await publisher.output.lines.first(within: .seconds(20)) { $0.hasPrefix("publishing ") }
            let stream = try #require(line.map { StreamID(String($0.dropFirst("publishing ".count))) })
            let watched = try await shared.watch(stream)
            let renderer = watched.stream.createRenderer()
            #expect(renderer.start() == .ok)
            #expect(await renderer.firstFrame != nil)
            publisher.send(SIGKILL)
            #expect(await watched.stream.ended.reason == .failed)
            if let backend = shared.backend {
                let told = try await backend.event("notification", within: .seconds(60)) { event in
                    event["what"].text == "ended" && event["data"]["streamId"].text == stream.description
                }
                #expect(told["data"]["reason"].text == "failed")
            }
            await watched.close()
        }

        @Test("An application in the background may have its stream again when it likes", .timeLimit(.minutes(1)))
        func recovery() async throws {
            let shared = try SharedPlatform.current()
            let published = try await shared.publish()
            let viewing = try await shared.client()
            let token = try shared.publishingToken
            let recovering = try await published.pcast.publish(
                recovering: RecoveryPolicy(), mediaStream: published.media.mediaStream, streamToken: { token })
            try await Self.isPublishedAgain(recovering, shared, published, viewing)
            await published.close()
        }

        private static func isPublishedAgain(
            _ recovering: RecoveringStream<Publisher>, _ shared: SharedPlatform, _ published: SharedPlatform.Published,
            _ viewing: PCast
        ) async throws {
            let first = try #require(recovering.current.value)
            // What the platform ends for maintenance is there again by itself, as another stream.
            try await shared.end(first.streamID, reason: "maintenance")
            let second = try await next(of: recovering, after: first)
            let watched = try await shared.watch(second.streamID, by: viewing)
            #expect(second.streamID != first.streamID)
            await published.pcast.applicationBackground()
            let seen = await watched.stream.ended
            #expect(seen.reason == .appBackground)
            try await accept(recovering)
            let third = try await next(of: recovering, after: second)
            #expect(!third.hasEnded)
            // And what is censored is over.
            try await shared.end(third.streamID, reason: "censored")
            let end = await recovering.ended
            #expect(end.reason == .censored)
            await watched.close()
        }

        /// The stream that there is instead of another one.
        private static func next(
            of recovering: RecoveringStream<Publisher>, after former: Publisher
        ) async throws -> Publisher {
            for await publisher in recovering.current.values {
                if let publisher, publisher !== former { return publisher }
            }
            throw EndToEndFailure("there is no other stream")
        }

        /// Takes the offer to have the stream again.
        private static func accept(_ recovering: RecoveringStream<Publisher>) async throws {
            for await offer in recovering.offer.values {
                if let offer { return offer.perform() }
            }
            throw EndToEndFailure("the stream is not offered again")
        }
    }
}
