import Foundation
import PCast
import Testing

extension EndToEnd {
    /// Encoders that publish by RTMP.
    @Suite("RTMP", .timeLimit(.minutes(5)))
    struct RTMPTests {
        /// The arguments with which FFmpeg publishes a film in real time, again and again.
        private static func publish(_ film: Film, to address: String) -> [String] {
            [
                "-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", film.file.path, "-c:v", "libx264",
                "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0", "-g", "60", "-pix_fmt", "yuv420p",
                "-c:a", "aac", "-ar", "44100", "-f", "flv", address,
            ]
        }

        @Test(
            "FFmpeg publishes H.264 and AAC, and a viewer sees and hears the film",
            .enabled(if: ThisMachine.hasFFmpeg))
        func ffmpeg() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                let platform = try await LocalPlatform.start(in: workspace, ["--rtmp-port", "0"])
                let listening = try await platform.program.event("listening")
                let port = Int(try #require(listening["rtmpPort"].number))
                let token = try await platform.publishingToken()
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    Self.publish(film, to: "rtmp://127.0.0.1:\(port)/ingest/\(token)"))
                let stream = try await platform.stream()

                let watched = try await WatchedStream.open(stream, of: platform)
                try await watched.height(Film.size.height, since: 0)
                let frame = workspace.path("picture.png")
                _ = try await watched.renderer.screenshot(to: frame)
                let found = try await film.find(MediaFile(path: frame, workspace: workspace))
                #expect(found.difference < 6, "the viewer sees the film")

                let record = workspace.path("record.mkv")
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(),
                    "--token", try await platform.viewingToken(stream), "--record", record)
                // A busy machine takes longer for five seconds of it.
                _ = try await viewer.event("stats") { $0["framesRendered"].number ?? 0 >= 150 }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                let file = MediaFile(path: record, workspace: workspace)
                #expect(try await file.track("video").codec == "h264")
                #expect(try await file.track("audio").codec == "opus")
                #expect(try await file.loudness() > -60, "the viewer hears the film")

                // The encoder ends its stream by a command.
                encoder.send(SIGINT)
                #expect(await watched.stream.ended.reason == .ended)
                await watched.close()
                try await platform.program.end()
                #expect(!platform.program.report.contains(token), "no key is logged")
            }
        }

        @Test(
            "OBS publishes a film with its own settings, and pcast, Chromium and an HLS player watch it",
            .enabled(if: ThisMachine.hasOBS && ThisMachine.hasFFmpeg && ThisMachine.hasChromium),
            .timeLimit(.minutes(10)))
        func obs() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await MediaFile.flashes(seconds: 60, in: workspace)
                let platform = try await LocalPlatform.start(in: workspace, ["--rtmp-port", "0"], limit: .longestSuite)
                let port = Int(try #require(try await platform.program.event("listening")["rtmpPort"].number))
                // The stream has B-frames, so viewers of WebRTC need a rendition without them. It is also packaged.
                let key = try await workspace.token(
                    LocalPlatform.application, "--type", "publish", "--capability", "multi-bitrate", "--capability",
                    "streaming")
                let obs = try await OBS.start(
                    server: "rtmp://127.0.0.1:\(port)/ingest", key: key, .film(film), .standard, in: workspace)
                let stream = try await platform.stream()

                // In the full length, a minute of the film.
                let seconds = ThisMachine.isFull ? 60 : 5
                let record = workspace.path("record.mkv")
                let viewer = try workspace.start(
                    BuiltProgram.path("pcast"),
                    [
                        "subscribe", "--uri", platform.uri, "--token", try await platform.authenticationToken(),
                        "--token", try await platform.viewingToken(stream), "--record", record, "--json",
                    ], limit: .longestSuite)
                let statistics = try await viewer.event("stats") {
                    $0["framesRendered"].number ?? 0 >= Double(30 * seconds)
                }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                // The compositor of OBS shows a frame of the film up to one of its own frames later, and a busy machine more.
                let distances = try await MediaFile(path: record, workspace: workspace).beepsAfterFlashes().sorted()
                try #require(distances.count >= 3)
                let median = distances[distances.count / 2]
                print("OBS by RTMP: the audio is \(median) s behind the video, \(statistics)")
                #expect(abs(median) < (ThisMachine.isFull ? 0.08 : 0.4))

                let page = try Peer(
                    "watch_chromium.py", ["\(platform.uri)/watch/\(stream)"], in: nil, of: workspace, seconds: 2,
                    hears: true)
                #expect(try await page.figures()["videoCodec"].text == "video/H264")

                let token = try await platform.viewingToken(stream)
                let query = try #require(token.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let player = try workspace.pcast(
                    "play", "\(platform.uri)/video/\(stream)/index.m3u8?token=\(query)", "--render", "null")
                #expect(try await player.event("dimensions")["height"].number == 360)
                _ = try await player.event("position") { _ in player.events("position").count > 2 }
                player.send(SIGINT)
                try await player.exitStatus()
                try await obs.end()
                try await platform.program.end()
                #expect(!platform.program.report.contains(key), "no key is logged")
            }
        }

        @Test("FFmpeg fails with a wrong key", .enabled(if: ThisMachine.hasFFmpeg))
        func wrongKey() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 2, in: workspace)
                let platform = try await LocalPlatform.start(in: workspace, ["--rtmp-port", "0"])
                let listening = try await platform.program.event("listening")
                let port = Int(try #require(listening["rtmpPort"].number))
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    Self.publish(film, to: "rtmp://127.0.0.1:\(port)/ingest/wrong"))
                #expect(try await encoder.exitStatus() != 0)
                try await platform.program.end()
            }
        }
    }
}
