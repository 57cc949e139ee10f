import Foundation
import Testing

extension EndToEnd {
    /// A publisher that disappears without closing its connection.
    @Suite("A vanished publisher")
    struct VanishedPublisherTests {
        @Test("a vanished publisher is away after 5 s and fails after 30 s", .timeLimit(.minutes(5)))
        func vanished() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let token = try await workspace.token(LocalPlatform.application, "--type", "publish")
                let authentication = try await platform.authenticationToken()
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", authentication, "--token", token)
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let viewing = try await platform.viewingToken(stream)
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", authentication, "--token", viewing)
                _ = try await viewer.event("firstFrame")

                let killed = Date()
                publisher.send(SIGKILL)
                #expect(try await publisher.exitStatus() == 128 + SIGKILL)
                let received = try await platform.program.message(containing: "no packets for 5 s")
                let silence = try Self.time(of: received).timeIntervalSince(killed)
                #expect(silence > 0)
                print("a vanished publisher is away after \(silence) s")
                #expect(viewer.isRunning)
                let wait = ThisMachine.isFull ? try await Self.waitForEnd(of: viewer, since: killed) : nil
                try await viewer.end(by: SIGINT)
                try await platform.program.end()
                // The silence began less than 5 s before the end of the publisher.
                if let wait { #expect(wait > 25) }
            }
        }

        /// Returns the time at the start of a log message.
        private static func time(of message: String) throws -> Date {
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            return try format.parse(String(message.prefix { $0 != " " }))
        }

        private static func waitForEnd(of viewer: RunningProgram, since killed: Date) async throws -> Double {
            let ended = try await viewer.event("ended")
            #expect(ended["reason"].text == "failed")
            let wait = try ended.time.timeIntervalSince(killed)
            print("a vanished publisher has failed after \(wait) s")
            #expect(try await viewer.exitStatus() == 7)
            return wait
        }
    }
}
