import Foundation
import PCast
import Testing

extension EndToEnd {
    /// The published protocol in other implementations.
    @Suite("The published protocol")
    struct ProtocolTests {
        private static let watching = ThisMachine.isFull ? 10 : 3

        @Test(
            "a Python client with aiortc and phenix-edge-auth publishes and subscribes with both ways of offering",
            .enabled(if: ThisMachine.hasPeers), .timeLimit(.minutes(5)))
        func independentClient() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-protocol-\(getpid())"
                let serve = [
                    "serve", "--listen", "127.0.1.1:8080", "--advertise", "127.0.1.1", "--application",
                    LocalPlatform.application, "--json",
                ]
                let program = try workspace.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [network, "env", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)", BuiltProgram.path("pcast")]
                        + serve)
                let platform = try await LocalPlatform(program, in: workspace)
                let names = LocalPlatform.application.split(separator: ":").map(String.init)
                let client = try Peer(
                    "protocol_aiortc.py",
                    ["--url", platform.uri, "--application", names[0], "--secret", names[1]], in: network,
                    of: workspace,
                    seconds: Self.watching)
                let figures = try await client.figures()
                for round in ["the publisher offers", "the viewer offers"] {
                    #expect(figures[round]["framesDecoded"].number ?? 0 > 0)
                    print("\(round): \(figures[round]["framesPerSecond"].number ?? 0) frames per second")
                }
                try await platform.program.end()
            }
        }

        struct Again: Sendable, CustomTestStringConvertible {
            let published: String
            let codec: Codec

            var testDescription: String { "\(published) again as \(codec.rawValue)" }
        }

        @Test(
            "a subscribed stream is republished, and a viewer of the second reads the test pattern",
            .timeLimit(.minutes(5)),
            arguments: [
                Again(published: "h264", codec: .h264), Again(published: "vp8", codec: .vp8),
                Again(published: "vp8", codec: .h264),
            ])
        func publishedAgain(_ again: Again) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.publishingToken(), "--codec",
                    again.published)
                let first = try await platform.stream()

                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let stream = try await pcast.subscribe(streamToken: try await platform.viewingToken(first))
                let second = try await pcast.publish(
                    streamToken: try await platform.publishingToken(), mediaStream: stream,
                    options: PublishOptions(videoCodec: again.codec))
                #expect(second.streamID.description != first)

                let token = try await platform.viewingToken(second.streamID.description)
                let viewer = try workspace.pcast("subscribe", "--uri", platform.uri, "--token", token)
                _ = try await viewer.event("firstFrame")
                // Latencies are read from the strip of the test pattern, and are null without it.
                let stats = try await viewer.event("stats") {
                    ($0["latencyP50"].number ?? -1) > 0 && ($0["framesRendered"].number ?? 0) >= 30
                        && $0["audioVideoSkew"].number != nil
                }
                print("\(again.testDescription): \(stats["latencyP50"].number ?? 0) ms from capture to frame")
                let passedOn = await second.getStats().outbound.first { $0.kind == .video }
                #expect(passedOn?.framesEncoded ?? 0 > 0)

                // The second stream ends with the first one.
                publisher.send(SIGINT)
                #expect(await second.ended.reason == .ended)
                #expect(try await viewer.event("ended")["reason"].text == "ended")
                await pcast.shutdown()
                try await platform.program.end()
            }
        }

        @Test("a subscribed stream that has ended cannot be published again", .timeLimit(.minutes(5)))
        func endedStream() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.publishingToken())
                let first = try await platform.stream()
                let pcast = PCast(PCastOptions(uri: platform.uri))
                _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
                let stream = try await pcast.subscribe(streamToken: try await platform.viewingToken(first))
                publisher.send(SIGINT)
                _ = await stream.ended
                let token = try await platform.publishingToken()
                let error = await #expect(throws: PCastError.self) {
                    try await pcast.publish(streamToken: token, mediaStream: stream)
                }
                #expect(error?.status == .gone)
                await pcast.shutdown()
                try await platform.program.end()
            }
        }
    }
}
