import Foundation
import PCastCore
import Testing

extension EndToEnd {
    /// `pcast publish` and `pcast subscribe` in two terminals of one user.
    @Suite("A session")
    struct SessionTests {
        @Test("publish starts a platform that subscribe finds, and Ctrl-C ends both cleanly", .timeLimit(.minutes(5)))
        func session() async throws {
            try await TestWorkspace.run { workspace in
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0")
                let stream = try await publisher.event("publishing")["streamId"].text
                let credentials = try #require(workspace.credentialsFiles.first)
                let attributes = try FileManager.default.attributesOfItem(atPath: credentials)
                #expect(attributes[.posixPermissions] as? Int == 0o600)

                let viewer = try workspace.pcast("subscribe")
                #expect(try await viewer.event("subscribed")["streamId"].text == stream)
                let wait = try await viewer.event("firstFrame")["milliseconds"].number ?? -1
                let size = try await viewer.event("dimensions")
                #expect(size["width"] == .number(1_280))
                #expect(size["height"] == .number(720))
                _ = try await viewer.event("stats")
                _ = try await publisher.event("stats")

                let another = try workspace.pcast("subscribe")
                let second = try await another.event("firstFrame")["milliseconds"].number ?? -1
                #expect(wait > 0 && second > 0)
                print("a session: the first frame after \(wait) ms, another viewer's after \(second) ms")
                another.send(SIGINT)
                #expect(try await another.event("ended")["description"].text == "interrupted")
                try await another.expectExitStatus(0)
                #expect(publisher.isRunning && viewer.isRunning)

                publisher.send(SIGINT)
                #expect(try await viewer.event("ended")["reason"].text == "ended")
                #expect(try await publisher.event("ended")["reason"].text == "ended")
                try await viewer.expectExitStatus(0)
                try await publisher.expectExitStatus(0)
                #expect(workspace.credentialsFiles.isEmpty)
            }
        }

        @Test(
            "arriving media are measured, recorded and saved as a screenshot", .enabled(if: ThisMachine.hasFFmpeg),
            .timeLimit(.minutes(5)))
        func measurements() async throws {
            try await TestWorkspace.run { workspace in
                let began = WallTime.now
                let publisher = try workspace.pcast("publish", "--listen", "127.0.0.1:0")
                _ = try await publisher.event("publishing")
                let (frame, recording) = (workspace.path("picture.png"), workspace.path("recording.mp4"))
                let viewer = try workspace.pcast("subscribe", "--screenshot", frame, "--record", recording)
                // A busy machine takes longer for them.
                _ = try await viewer.event("stats") { $0["framesRendered"].number ?? 0 >= 100 }
                // A publisher without viewers sends nothing, so this is awaited before the viewer's end.
                _ = try await publisher.event("stats") { stats in
                    ["framesCaptured", "framesEncoded", "bitrate", "packetsSent", "encodeTime"].allSatisfy {
                        stats[$0].number ?? 0 > 0
                    }
                }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)

                let summary = try await viewer.event("summary")
                try Self.check(figures: summary)
                try await Self.check(frame: MediaFile(path: frame, workspace: workspace), since: began)
                let rendered = Int(try #require(summary["framesRendered"].number))
                try await Self.check(recording: MediaFile(path: recording, workspace: workspace), rendered: rendered)
            }
        }

        @Test(
            "outside of loopback the link contains a token, which is required to watch",
            .enabled(if: ThisMachine.hasPeers), .timeLimit(.minutes(5)))
        func offLoopback() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-open-\(getpid())"
                let script = "\(BuiltProgram.peers)/namespace.sh"
                let pcast = try BuiltProgram.path("pcast")
                let publisher = try workspace.start(
                    script,
                    [network, "env", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)", pcast]
                        + ["publish", "--listen", "0.0.0.0:8080", "--json"])
                let published = try await publisher.event("publishing")
                let stream = try #require(published["streamId"].text)
                let link = try #require(published["watch"].text.flatMap { URLComponents(string: $0) })
                // The token is in the fragment, which no browser sends to a server.
                var fragment = URLComponents()
                fragment.percentEncodedQuery = link.percentEncodedFragment
                let token = try #require(fragment.queryItems?.first { $0.name == "token" }?.value)

                let unknownPeer = try workspace.start(
                    script,
                    [network, "env", "XDG_RUNTIME_DIR=/nowhere", pcast]
                        + ["subscribe", "--uri", "http://127.0.1.1:8080", "--stream", stream, "--json"])
                try await unknownPeer.expectExitStatus(3)
                let endpoint = ["--url", "http://127.0.1.1:8080/whep/\(stream)", "--codec", "H264"]
                let uninvited = try Peer("whep_aiortc.py", endpoint, in: network, of: workspace, seconds: 2)
                await #expect(throws: EndToEndFailure.self) { try await uninvited.figures() }
                #expect(uninvited.program.output.lines.values.last?.contains("POST was answered 401") == true)
                let invited = try Peer(
                    "whep_aiortc.py", endpoint + ["--token", token], in: network, of: workspace, seconds: 2)
                _ = try await invited.figures()
            }
        }

        /// How large the values are is measured by `pcast-bench latency`.
        private static func check(figures: JSON) throws {
            for field in ["packetsLost", "nackCount"] { #expect(figures[field] == .number(0), "\(field)") }
            let (median, worst) = (figures["latencyP50"].number ?? -1, figures["latencyP99"].number ?? -1)
            let skew = try #require(figures["audioVideoSkew"].number)
            print("a session on loopback: latency \(median) ms, 99 % within \(worst) ms, skew \(skew) ms")
            #expect(median > 0)
            #expect(worst >= median)
            #expect(figures["bitrate"].number ?? 0 > 0)
            #expect(figures["jitter"].number != nil)
            #expect(figures["roundTripTime"].number != nil)
            for field in ["framesDropped", "freezeCount", "freezeDuration"] {
                #expect(figures[field].number ?? -1 >= 0, "\(field)")
            }
            let (decoded, rendered) = (figures["framesDecoded"].number, figures["framesRendered"].number)
            #expect(try #require(rendered) >= 100 && #require(rendered) <= #require(decoded))
        }

        private static func check(frame: MediaFile, since began: WallTime) async throws {
            let track = try await frame.track("video")
            #expect(track.codec == "png")
            #expect(track.width == 1_280)
            #expect(track.height == 720)
            let stamp = try #require(try await frame.stamps(width: 1_280, height: 720).first ?? nil)
            let now = WallTime.now
            let captured = stamp.captureTime(near: now)
            #expect(began <= captured && captured < now)
        }

        /// Every frame that was shown while it was recorded is in it, in order and once.
        private static func check(recording: MediaFile, rendered: Int) async throws {
            let audio = try await recording.track("audio")
            let frame = try await recording.track("video")
            #expect(frame.frames >= rendered)
            #expect(abs(audio.duration - frame.duration) < 0.5)
            let stamps = try await recording.stamps()
            #expect(stamps.count == frame.frames)
            let counters = stamps.compactMap { $0?.counter }
            #expect(counters.count == stamps.count)
            let steps = zip(counters.dropFirst(), counters).map { $0 &- $1 }
            #expect(steps.allSatisfy { (1...UInt16.max / 2).contains($0) }, "\(steps)")
        }
    }
}
