import Foundation
import Testing

extension EndToEnd {
    /// A publisher that dies without a word.
    @Suite("A publisher that vanishes")
    struct VanishedPublisherTests {
        @Test("It is away after 5 s, and has failed after 30 s", .timeLimit(.minutes(2)))
        func vanished() async throws {
            try await Workplace.run { place in
                let platform = try await LocalPlatform.start(in: place)
                let token = try await place.token(LocalPlatform.application, "--type", "publish")
                let authentication = try await platform.authenticationToken()
                let publisher = try place.pcast(
                    "publish", "--uri", platform.uri, "--token", authentication, "--token", token)
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let viewing = try await platform.viewingToken(stream)
                let viewer = try place.pcast(
                    "subscribe", "--uri", platform.uri, "--token", authentication, "--token", viewing)
                _ = try await viewer.event("firstFrame")

                publisher.send(SIGKILL)
                let killed = ContinuousClock.now
                #expect(try await publisher.exitStatus(within: .seconds(5)) == 128 + SIGKILL)
                _ = try await platform.program.message(containing: "silent for 5 s", within: .seconds(8))
                let silence = killed.duration(to: .now).seconds
                print("a vanished publisher is away after \(silence) s")
                #expect((4.4...6.5).contains(silence))
                #expect(viewer.isRunning)
                if ThisMachine.isFull { try await Self.waitForEnd(of: viewer, since: killed) }
            }
        }

        private static func waitForEnd(of viewer: RunningProgram, since killed: ContinuousClock.Instant) async throws {
            #expect(try await viewer.event("ended", within: .seconds(30))["reason"].text == "failed")
            let wait = killed.duration(to: .now).seconds
            print("a vanished publisher has failed after \(wait) s")
            #expect((29.4...32).contains(wait))
            #expect(try await viewer.exitStatus(within: .seconds(5)) == 7)
        }
    }
}
