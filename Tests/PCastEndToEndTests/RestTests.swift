import Foundation
import Testing

extension EndToEnd {
    /// A publisher without viewers, until a viewer joins.
    @Suite("A paused publisher")
    struct RestTests {
        @Test(
            "without viewers frames are captured but not encoded, and each new viewer sees them",
            .timeLimit(.minutes(5)))
        func rests() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0", "--size", "640x360")
                _ = try await publisher.event("publishing")
                var resting = try await Self.rest(of: publisher, after: try await publisher.event("stats"))
                for round in 1...2 {
                    let viewer = try workspace.pcast("subscribe")
                    let first = try await viewer.event("firstFrame")["milliseconds"].number ?? -1
                    print("round \(round): the first frame of a publisher idle comes after \(first) ms")
                    let encoded = resting["framesEncoded"].number ?? .infinity
                    let woken = try await publisher.event("stats") { $0["framesEncoded"].number ?? 0 > encoded }

                    // The stream is complete after it resumed: no packet was lost while it was paused.
                    _ = try await viewer.event("stats") { $0["framesRendered"].number ?? 0 >= 30 }
                    viewer.send(SIGINT)
                    try await viewer.expectExitStatus(0)
                    let summary = try await viewer.event("summary")
                    for field in ["packetsLost", "nackCount"] { #expect(summary[field] == .number(0), "\(field)") }
                    resting = try await Self.rest(of: publisher, after: woken)
                }
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
            }
        }

        /// Waits for a second in which frames were captured, and none was encoded or sent.
        private static func rest(of publisher: RunningProgram, after start: JSON) async throws -> JSON {
            var last = start
            for _ in 0..<30 {
                let captured = last["framesCaptured"].number ?? .infinity
                let next = try await publisher.event("stats") { $0["framesCaptured"].number ?? 0 > captured }
                let isPaused = ["framesEncoded", "packetsSent"].allSatisfy { next[$0] == last[$0] }
                if isPaused { return next }
                last = next
            }
            throw EndToEndFailure("it encodes on, with nobody watching\n\(publisher.report)")
        }
    }
}
