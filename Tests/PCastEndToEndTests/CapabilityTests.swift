import Foundation
import PCast
import Testing

extension EndToEnd {
    /// The effects of a token's capabilities on a stream.
    @Suite("Capabilities")
    struct CapabilityTests {
        private static func token(_ workspace: TestWorkspace, _ type: String, _ capabilities: String...) async throws
            -> String
        {
            let create = [
                "token", "create", "--application", LocalPlatform.application, "--expires-in", "1h", "--type", type,
            ]
            let options = capabilities.flatMap { ["--capability", $0] }
            return try #require(try await workspace.run(BuiltProgram.path("pcast"), create + options).output.first)
        }

        @Test(
            "playout buffer and audio-only capabilities of a token apply, and other capabilities are named",
            .timeLimit(.minutes(5)))
        func meanings() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publishing = try await Self.token(workspace, "publish", "playout-buffer=PT0.6S", "made-up")
                let publisher = try workspace.pcast("publish", "--uri", platform.uri, "--token", publishing)
                _ = try await publisher.event("publishing")
                for program in [platform.program, publisher] {
                    let warning = try await program.message(
                        containing: "capabilities without effect")
                    #expect(warning.contains("made-up") && !warning.contains("playout-buffer"))
                }

                let plain = try await Self.token(workspace, "stream")
                let viewer = try workspace.pcast("subscribe", "--uri", platform.uri, "--token", plain)
                _ = try await viewer.event("firstFrame")
                let late = try await viewer.event("stats") {
                    ($0["latencyP50"].number ?? 0) > 550
                }
                print("a playout buffer of 600 ms: \(late["latencyP50"].number ?? 0) ms from capture to frame")

                let audio = try await Self.token(workspace, "stream", "audio-only")
                let listener = try workspace.pcast("subscribe", "--uri", platform.uri, "--token", audio)
                let heard = try await listener.event("stats") {
                    ($0["bitrate"].number ?? 0) > 10_000
                }
                #expect(heard["framesDecoded"].number == 0 && heard["latencyP50"] == .null)

                // An unavailable capability is an error and is not replaced by another one.
                for impossible in ["on-demand", "prefer-vp8=force"] {
                    let token = try await Self.token(workspace, "stream", impossible)
                    let program = try workspace.pcast("subscribe", "--uri", platform.uri, "--token", token)
                    try await program.expectExitStatus(2)
                }
                for program in [viewer, listener, publisher] { program.send(SIGINT) }
                try await platform.program.end()
            }
        }

        @Test("a publisher that sends no data within its token's limit ends as failed", .timeLimit(.minutes(5)))
        func abandoned() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                // Only the time until the stream is paused counts, which a busy machine may make longer.
                let limit = ThisMachine.isFull ? 30 : 12
                let token = try await Self.token(
                    workspace, "publish", "abandon-deadline=PT\(limit)S", "setup-deadline=PT120S")
                let speaking = try await pcast.publish(streamToken: token, mediaStream: media.mediaStream)
                let short = try await Self.token(workspace, "publish", "abandon-deadline=PT2S", "setup-deadline=PT120S")
                let muted = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                for track in muted.mediaStream.tracks { track.setEnabled(false) }
                let publisher = try await pcast.publish(streamToken: short, mediaStream: muted.mediaStream)
                let end = await publisher.ended
                #expect(end.reason == .failed && end.ender == .platform)

                // Nobody watches the publisher that sends, so its stream is paused after two seconds. This does not count
                // as missing data.
                var seconds = 0
                for await _ in speaking.statistics {
                    seconds += 1
                    if seconds == limit + 2 { break }
                }
                #expect(seconds == limit + 2 && !speaking.hasEnded)
                await pcast.shutdown()
                try await platform.program.end()
            }
        }

        /// The seconds for which peers wait to be ended.
        private static let waitSeconds = 90

        @Test(
            "the capabilities apply to WHIP and WHEP", .timeLimit(.minutes(5)), .enabled(if: ThisMachine.hasPeers))
        func abandonedAtEndpoints() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publishing = try await Self.token(workspace, "publish", "abandon-deadline=PT2S")
                let publisher = try Peer(
                    "whip_aiortc.py", ["--url", "\(platform.uri)/whip", "--token", publishing, "--silent"], in: nil,
                    of: workspace, seconds: Self.waitSeconds)
                // This publisher's microphone and camera are off.
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let media = try await pcast.getUserMedia(
                    UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
                for track in media.mediaStream.tracks { track.setEnabled(false) }
                let silent = try await pcast.publish(
                    streamToken: try await platform.publishingToken(), mediaStream: media.mediaStream)
                let viewing = try await Self.token(workspace, "stream", "abandon-deadline=PT2S")
                let viewer = try Peer(
                    "whep_aiortc.py",
                    ["--url", "\(platform.uri)/whep/\(silent.streamID)", "--token", viewing, "--silent"], in: nil,
                    of: workspace, seconds: Self.waitSeconds)
                for peer in [publisher, viewer] {
                    // Without the limit nothing ends them, as `silent` shows.
                    let seconds = try await peer.figures()["abandonedSeconds"].number ?? 0
                    #expect(seconds >= 2, "\(peer.program.name) was terminated after \(seconds) s")
                }
                _ = try await platform.program.message(containing: "reason=failed")
                #expect(!silent.hasEnded)
                await pcast.shutdown()
                try await platform.program.end()
            }
        }
    }
}
