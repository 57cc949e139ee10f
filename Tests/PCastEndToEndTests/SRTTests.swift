import Foundation
import PCast
import Testing

extension EndToEnd {
    /// Programs that publish and view by SRT on one port.
    @Suite("SRT", .timeLimit(.minutes(5)))
    struct SRTTests {
        private static let hasGStreamer = BuiltProgram.installed("gst-launch-1.0") != nil

        /// The parameter of FFmpeg for the time in which a handshake must succeed, in milliseconds. The default of 3 s is
        /// too short for a busy machine.
        private static let connectTimeout = "connect_timeout=60000"

        private func start(_ workspace: TestWorkspace) async throws -> (platform: LocalPlatform, port: Int) {
            let platform = try await LocalPlatform.start(in: workspace, ["--srt-port", "0"])
            let listening = try await platform.program.event("listening")
            return (platform, Int(try #require(listening["srtPort"].number)))
        }

        /// The arguments with which FFmpeg publishes a film in real time, again and again.
        private static func publish(_ film: Film, to address: String) -> [String] {
            [
                "-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", film.file.path, "-c:v", "libx264",
                "-preset", "ultrafast", "-tune", "zerolatency", "-bf", "0", "-g", "60", "-pix_fmt", "yuv420p",
                "-c:a", "aac", "-ar", "44100", "-f", "mpegts", address,
            ]
        }

        @Test(
            "FFmpeg publishes H.264 and AAC, and viewers of WebRTC and SRT see and hear the film",
            .enabled(if: ThisMachine.hasFFmpeg))
        func ffmpeg() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                let (platform, port) = try await start(workspace)
                let token = try await platform.publishingToken()
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    Self.publish(
                        film, to: "srt://127.0.0.1:\(port)?pkt_size=1316&\(Self.connectTimeout)&streamid=\(token)"))
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

                // FFmpeg also views the stream.
                let copy = workspace.path("view.ts")
                let streamID = "#!::m=request,r=\(stream),s=\(try await platform.viewingToken(stream))"
                let receiver = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    [
                        "-v", "error", "-nostdin", "-i",
                        "srt://127.0.0.1:\(port)?\(Self.connectTimeout)&streamid=\(streamID)", "-t", "4", "-c", "copy",
                        copy,
                    ])
                #expect(try await receiver.exitStatus() == 0)
                let copied = MediaFile(path: copy, workspace: workspace)
                #expect(try await copied.track("video").codec == "h264")
                #expect(try await copied.track("audio").codec == "aac")
                #expect(try await copied.loudness() > -60, "the receiver hears the film")

                // The encoder closes its connection.
                encoder.send(SIGINT)
                #expect(await watched.stream.ended.reason == .ended)
                await watched.close()
                try await platform.program.end()
                #expect(!platform.program.report.contains(token), "no key is logged")
            }
        }

        @Test("FFmpeg fails with a wrong key", .enabled(if: ThisMachine.hasFFmpeg))
        func wrongKey() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 2, in: workspace)
                let (platform, port) = try await start(workspace)
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("ffmpeg")),
                    Self.publish(film, to: "srt://127.0.0.1:\(port)?\(Self.connectTimeout)&streamid=wrong"))
                #expect(try await encoder.exitStatus() != 0)
                try await platform.program.end()
            }
        }

        @Test("GStreamer publishes H.264 and Opus with srtsink", .enabled(if: hasGStreamer))
        func gstreamer() async throws {
            try await TestWorkspace.run { workspace in
                let (platform, port) = try await start(workspace)
                let token = try await platform.publishingToken()
                let pipeline = """
                    videotestsrc is-live=true ! video/x-raw,format=I420,width=640,height=360,framerate=30/1
                    ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! h264parse ! queue
                    ! mpegtsmux name=mux alignment=7
                    ! srtsink uri=srt://127.0.0.1:\(port)?mode=caller streamid=\(token)
                    audiotestsrc is-live=true ! audioconvert ! audioresample ! opusenc ! queue ! mux.
                    """
                let encoder = try workspace.start(
                    try #require(BuiltProgram.installed("gst-launch-1.0")),
                    ["-q", "-e"] + pipeline.split(whereSeparator: \.isWhitespace).map { String($0) })
                let stream = try await platform.stream()
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
                #expect(try await file.loudness() > -60, "the viewer hears the tone")
                try await encoder.end()
                try await platform.program.end()
            }
        }
    }
}
