import Foundation
import Testing

extension EndToEnd {
    /// The platform's offers in browsers, in the form for Phenix's Web SDK, and that SDK itself if it is available.
    @Suite("The Web SDK's protocol in browsers", .enabled(if: ThisMachine.hasEdgeAuth))
    struct WebSDKTests {
        private static let names = LocalPlatform.application.split(separator: ":").map(String.init)

        @Test(
            "a browser publishes and subscribes by the platform's offers, and the reason follows the closed connection",
            .timeLimit(.minutes(5)), arguments: ThisMachine.browsers)
        func platformOffers(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let peer = try Peer(
                    "protocol_browser.py",
                    [
                        "--url", platform.uri, "--application", Self.names[0], "--secret", Self.names[1], "--browser",
                        browser,
                    ], in: nil, of: workspace, seconds: 1)
                let figures = try await peer.figures()
                #expect(figures["reasons"].list.compactMap(\.text) == ["curtain", "curtain"])
                print("\(figures["peer"].text ?? ""): played \(figures["played"].number ?? 0) s")
                try await platform.program.end()
            }
        }

        @Test(
            "Phenix's public Web SDK publishes and subscribes if only its address is changed",
            .enabled(if: !ThisMachine.webSDKs.isEmpty), .timeLimit(.minutes(5)), arguments: ThisMachine.webSDKs,
            ThisMachine.browsers)
        func webSDK(file: String, browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let transcript = workspace.path("transcript.txt")
                let peer = try Peer(
                    "web_sdk.py",
                    [
                        "--url", platform.uri, "--sdk", file, "--application", LocalPlatform.application, "--browser",
                        browser, "--transcript", transcript,
                    ], in: nil, of: workspace, seconds: 6)
                let figures = try await peer.figures()
                #expect(figures["callbacks"].number ?? 0 > 30)
                print("\(figures["peer"].text ?? ""), \(file):")
                print(try String(contentsOfFile: transcript, encoding: .utf8))
                try await platform.program.end()
            }
        }
    }
}

extension EndToEnd {
    /// The page `/publish` in headless Chromium with its fake camera and microphone.
    @Suite("A browser as publisher", .enabled(if: ThisMachine.hasChromium))
    struct ChromiumPublishTests {
        private static let seconds = ThisMachine.isFull ? 60 : 4

        @Test(
            "a browser's media reach subscribe until it stops", .timeLimit(.minutes(5)), arguments: ["H264", "VP8"])
        func publish(codec: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let browser = try Peer(
                    "publish_chromium.py", ["\(platform.uri)/publish", "--codec", codec, "--until-told"], in: nil,
                    of: workspace, seconds: Self.seconds, hears: true)
                let stream = try await platform.stream()
                let recording = workspace.path("recording.\(codec == "VP8" ? "mkv" : "mp4")")
                let token = try await platform.viewingToken(stream)
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", token, "--record", recording)
                _ = try await viewer.event("firstFrame")

                // A busy machine takes longer for them.
                _ = try await viewer.event("stats", within: .seconds(Self.seconds) + .timeout) {
                    $0["framesRendered"].number ?? 0 >= Double(15 * Self.seconds)
                }
                try browser.program.notify("enough")
                let figures = try await browser.figures()
                #expect(figures["videoCodec"].text == "video/\(codec)")
                #expect(figures["srtpCipher"].text?.hasPrefix("SRTP_AEAD_AES_") == true)
                #expect(figures["streamID"].text == stream)
                // The page ends its session by DELETE: viewers do not wait for a publisher that is silent, whose stream fails.
                #expect(try await viewer.event("ended")["reason"].text == "ended")
                try await viewer.expectExitStatus(0)
                try await Self.check(viewer, MediaFile(path: recording, workspace: workspace), codec)
            }
        }

        private static func check(_ viewer: RunningProgram, _ recording: MediaFile, _ codec: String) async throws {
            let summary = try await viewer.event("summary")
            #expect(summary["framesRendered"].number ?? 0 >= Double(15 * seconds))
            #expect(summary["packetsLost"] == .number(0))
            guard ThisMachine.hasFFmpeg else { return }
            let frame = try await recording.track("video")
            #expect(frame.codec == codec.lowercased())
            #expect(frame.frames >= 15 * seconds)
            // Chromium's fake microphone beeps.
            #expect(try await recording.loudness() > -60)
            let changes = try await recording.frames(width: 64, height: 36, format: "gray", byteCount: 64 * 36)
            #expect(Set(changes).count >= 10 * seconds, "the video must change")
        }
    }
}

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
                try await publisher.expectExitStatus(128 + SIGKILL)
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
            try await viewer.expectExitStatus(7)
            return wait
        }
    }
}
