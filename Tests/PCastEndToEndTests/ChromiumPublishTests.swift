import Foundation
import Testing

extension EndToEnd {
    /// The page `/publish` in headless Chromium with its fake camera and microphone.
    @Suite("A browser as publisher", .enabled(if: ThisMachine.hasChromium))
    struct ChromiumPublishTests {
        private static let seconds = ThisMachine.isFull ? 60 : 10

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
                #expect(try await viewer.exitStatus() == 0)
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
