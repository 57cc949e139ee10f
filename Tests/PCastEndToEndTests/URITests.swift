import Foundation
import PCast
import PCastCore
import Testing

extension EndToEnd {
    /// Streams from and to addresses, which the platform pulls, listens for and pushes in separate processes.
    @Suite("Streams from and to addresses")
    struct URITests {
        @Test(
            "an encoder without WHIP pushes by SRT, and a viewer sees its video",
            .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)))
        func listener() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 6, in: workspace)
                let platform = try await URIPlatform.start(in: workspace, "--srt-pull-ports", URIPlatform.listenerPorts)
                let (publisher, port) = try await platform.listen("&passphrase=not-to-be-told")
                let encoder = try workspace.start(
                    "/usr/bin/env",
                    ["ffmpeg"] + Self.encoding(film.file.path) + [
                        "-f", "mpegts",
                        // A handshake may take longer than FFmpeg's default of 3 s on a busy machine.
                        "srt://127.0.0.1:\(port)?passphrase=not-to-be-told&connect_timeout=60000",
                    ])
                #expect(try await platform.local.stream() == publisher.streamID.description)
                let watched = try await WatchedStream.open(publisher.streamID.description, of: platform.local)
                try await watched.height(Film.size.height, since: 0)
                let frame = workspace.path("picture.png")
                _ = try await watched.renderer.screenshot(to: frame)
                let found = try await film.find(MediaFile(path: frame, workspace: workspace))
                #expect(found.difference < 6, "the viewer sees the film")

                // The worker has no secret on its command line, and its death ends the stream.
                let worker = try #require(platform.workers.first)
                #expect(worker.arguments.dropFirst() == ["worker"])
                kill(worker.id, SIGKILL)
                #expect(await publisher.ended.reason == .failed)
                #expect(await watched.stream.ended.reason == .failed)
                try await encoder.end()
                await watched.close()
                await platform.close()
                #expect(!platform.local.program.report.contains("not-to-be-told"))
            }
        }

        @Test(
            "a stream is pushed by SRT to a recording program, and the recording shows the test pattern",
            .enabled(if: ThisMachine.hasFFmpeg), .timeLimit(.minutes(5)))
        func egress() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await URIPlatform.start(in: workspace, "--media-allow", "127.0.0.1")
                let source = try workspace.pcast(
                    "publish", "--uri", platform.local.uri, "--token", try await platform.token("auth"), "--token",
                    try await platform.token("publish"), "--video", "synthetic", "--audio", "synthetic", "--size",
                    "640x360")
                let stream = try #require(try await source.event("publishing")["streamId"].text)
                let record = workspace.path("record.mkv")
                let token = try await platform.token("stream", "egress", "--stream", stream)
                let (receiver, pushed, port) = try await ChosenPort.find { port -> (RunningProgram, Publisher, Int)? in
                    guard !ChosenPort.isInUse(port) else { return nil }
                    let uri = "srt://127.0.0.1:\(port)"
                    let receiver = try workspace.start(
                        "/usr/bin/env",
                        [
                            "ffmpeg", "-v", "error", "-nostdin", "-i", "\(uri)?mode=listener", "-frames:v", "90",
                            "-c", "copy", record,
                        ])
                    try await receiver.awaitDatagramPort(port)
                    do {
                        let pushed = try await platform.pcast.egress(
                            streamToken: token, streamID: StreamID(stream), uri: uri)
                        return (receiver, pushed, port)
                    } catch {
                        // ffmpeg ends if it cannot listen.
                        if !receiver.isRunning, ChosenPort.isInUse(port) { return nil }
                        throw error
                    }
                }
                try await receiver.expectExitStatus(0)
                let file = MediaFile(path: record, workspace: workspace)
                #expect(try await file.track("video").codec == "h264")
                #expect(try await file.track("audio").codec == "aac")
                #expect(try await file.loudness() > -60)
                let stamps = try await file.stamps()
                #expect(stamps.count > 60)
                #expect(stamps.count { $0 == nil } == 0, "each frame has its time strip")

                // The receiver has ended.
                let end = await pushed.ended
                #expect(end.reason == .failed)
                #expect(end.reasonDescription == "egress-failed")
                if ThisMachine.isFull { try await Self.pushByRTMP(stream, token, port, platform) }
                // No receiver is listening at all.
                let error = await #expect(throws: PCastError.self) {
                    try await platform.pcast.egress(
                        streamToken: token, streamID: StreamID(stream), uri: "srt://127.0.0.1:\(port)")
                }
                #expect(error?.status == .failed)
                await platform.close()
            }
        }

        @Test(
            "redirections and playlists do not lead to forbidden addresses",
            .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasPython), .timeLimit(.minutes(5)))
        func guarded() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await Film.make(seconds: 4, in: workspace)
                let server = try workspace.start(
                    "/usr/bin/env", ["python3", "\(BuiltProgram.peers)/redirections.py", film.file.path])
                let workspaces = try await server.event("listening")
                let http = "127.0.0.1:\(Int(try #require(workspaces["http"].number)))"
                let rtsp = "127.0.0.1:\(Int(try #require(workspaces["rtsp"].number)))"
                let platform = try await URIPlatform.start(in: workspace, "--media-allow", "127.0.0.1")
                let token = try await platform.token("publish", "publish-uri")
                for uri in [
                    "http://\(http)/redirect?token=hidden", "http://\(http)/list.m3u8", "http://\(http)/proxy.m3u8",
                    "rtsp://\(rtsp)/x",
                ] {
                    let error = await #expect(throws: PCastError.self, "\(uri)") {
                        try await platform.pcast.publishFromUri(streamToken: token, uri: uri)
                    }
                    #expect(error?.status == .failed || error?.status == .timeout, "\(uri)")
                }
                _ = try await server.event("asked") { _ in server.events("asked").count >= 4 }
                #expect(server.events("reached").isEmpty)
                // An allowed source is pulled in the same way, and the stream ends with its source.
                let publisher = try await platform.pcast.publishFromUri(
                    streamToken: token, uri: "http://\(http)/film.mp4?token=hidden",
                    connectOptions: ConnectOptions(maximumFrameRate: 10, prerollSkip: .milliseconds(500)))
                #expect(try await platform.local.stream() == publisher.streamID.description)
                #expect(await publisher.ended.reason == .ended)
                await platform.close()
                #expect(!platform.local.program.report.contains("hidden"))
            }
        }

        @Test("a worker ends with its platform, however that ends", .timeLimit(.minutes(5)))
        func orphans() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await URIPlatform.start(in: workspace, "--srt-pull-ports", URIPlatform.listenerPorts)
                _ = try await platform.listen(options: ConnectOptions(isDetached: true))
                await platform.pcast.shutdown()
                let worker = try #require(platform.workers.first, "the detached job has no worker")
                platform.local.program.send(SIGKILL)
                let end = ContinuousClock.now + .timeout
                while worker.isRunning, ContinuousClock.now < end {
                    try await ContinuousClock().sleep(for: .milliseconds(20))
                }
                #expect(!worker.isRunning)
            }
        }

        /// Pushes by RTMP, as other platforms accept it.
        private static func pushByRTMP(
            _ stream: String, _ token: String, _ port: Int, _ platform: URIPlatform
        ) async throws {
            let workspace = platform.local.workspace
            let (record, uri) = (workspace.path("rtmp.mkv"), "rtmp://127.0.0.1:\(port)/live/hidden-key")
            let receiver = try workspace.start(
                "/usr/bin/env",
                [
                    "ffmpeg", "-v", "verbose", "-nostdin", "-listen", "1", "-f", "flv", "-i", uri, "-t", "3", "-c",
                    "copy", record,
                ])
            // The push is rejected until the receiver listens.
            var pushed: Publisher?
            while pushed == nil, receiver.isRunning {
                pushed = try? await platform.pcast.egress(
                    streamToken: token, streamID: StreamID(stream), uri: uri)
            }
            try await receiver.expectExitStatus(0)
            let file = MediaFile(path: record, workspace: workspace)
            #expect(try await file.track("audio").codec == "aac")
            let stamps = try await file.stamps()
            #expect(stamps.count > 45)
            #expect(stamps.count { $0 == nil } == 0, "each frame has its time strip")
            #expect(!platform.local.program.report.contains("hidden-key"))
        }

        /// Returns the encoding of a studio's encoder: no reordering, and a key frame each second.
        private static func encoding(_ path: String) -> [String] {
            [
                "-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", path, "-c:v", "libx264", "-preset",
                "ultrafast", "-tune", "zerolatency", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-g", "30",
                "-b:v", "2M", "-c:a",
                "aac",
            ]
        }
    }
}
