import Foundation
import PCastCore
import PCastPlayback
import Testing

extension EndToEnd {
    /// `pcast playout`: a channel with a web page over its video, as viewers see it.
    @Suite(
        "Playing out", .enabled(if: ThisMachine.hasFFmpeg && ThisMachine.hasChromium), .timeLimit(.minutes(6)))
    struct PlayoutTests {
        @Test(
            "a playlist is sent with a page over it, skips unplayable items, and continues if the page crashes",
            .enabled(if: ThisMachine.hasPython))
        func channel() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await StampedRecording.make("film.mp4", seconds: 6, in: workspace)
                let page = workspace.path("page.html")
                try ChannelScreen.page.write(toFile: page, atomically: true, encoding: .utf8)
                let platform = try await LocalPlatform.start(in: workspace)
                let channel = try workspace.pcast(
                    "playout", film.path, workspace.path("missing.mp4"), "--loop", "--overlay", "file://\(page)",
                    "--overlay-without-sandbox", "--uri", platform.uri, "--token",
                    try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(), limit: .longestSuite)
                let stream = try #require(try await channel.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(stream)
                let link = "\(platform.uri)/watch/\(stream)#token=\(token.addingPercentEncoding)"

                let screen = ChannelScreen()
                let player = Player(.media(playsAudio: false, shownOn: screen))
                player.set(video: Video(link), play: true)
                let isBoth: @Sendable (ChannelScreen.Sight) -> Bool = { $0.isCovered && $0.stamp != nil }
                #expect(await screen.sights.first(where: isBoth) != nil, "\(channel.report)")

                // Each round ends with a missing item.
                let before = screen.sights.values.count
                _ = await channel.output.lines.first { $0.contains("\"finished\"") }
                _ = await screen.sights.first { _ in screen.sights.values.count >= before + 180 }
                let seen = screen.sights.values[before...]
                // A frame without the film may follow each round, of which a busy machine plays more meanwhile.
                let rounds = channel.events("finished").count
                #expect(seen.count >= 180 && seen.count(where: isBoth) >= seen.count - max(2, rounds))
                // The event of the missing item follows that of the end of the film.
                _ = try await channel.event("error")
                #expect(channel.isRunning)

                try await Self.expectInChromium(link, in: workspace)

                // Video continues without the page, which is restored.
                let browser = try #require(Self.child(of: channel))
                let count = screen.sights.values.count
                kill(browser, SIGKILL)
                let isBare: @Sendable (ChannelScreen.Sight) -> Bool = { !$0.isCovered && $0.stamp != nil }
                #expect(
                    await screen.sights.first { isBare($0) && screen.sights.values.count > count } != nil,
                    "\(channel.report)")
                #expect(await channel.output.lines.first { $0.contains("\"open\":true") } != nil)
                let bare = screen.sights.values.count
                #expect(await screen.sights.first { isBoth($0) && screen.sights.values.count > bare } != nil)

                player.reset()
                await player.settled()
                channel.send(SIGINT)
                try await channel.expectExitStatus(0)
                #expect(channel.events("ended").first?["reason"].text == "ended")
            }
        }

        /// Expects that the watch page in a browser shows the strip of the film and the block of the page.
        private static func expectInChromium(_ link: String, in workspace: TestWorkspace) async throws {
            let screenshot = workspace.path("viewer.png")
            let viewer = try Peer(
                "watch_chromium.py", [link, "--screenshot", screenshot, "--strip"], in: nil, of: workspace, seconds: 4)
            let figures = try await viewer.figures()
            let box = figures["videoBox"].list.compactMap(\.number).map { Int($0) }
            try #require(box.count == 4)
            let size = Dimensions(width: 640, height: 360)
            let raw = workspace.path("viewer.yuv")
            try await workspace.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-i", screenshot, "-vf",
                    "crop=\(box[2]):\(box[3]):\(box[0]):\(box[1]),scale=\(size.width):\(size.height)", "-pix_fmt",
                    "yuv420p", "-f", "rawvideo", raw,
                ])
            let bytes = try Data(contentsOf: URL(fileURLWithPath: raw))
            // 640 and 320 are multiples of the row alignment.
            try #require(bytes.count == VideoFrame.layout(size).byteCount)
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 64)
            bytes.copyBytes(to: memory)
            let frame = VideoFrame(
                dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory
            ) { $0.deallocate() }
            let sight = ChannelScreen.look(at: frame)
            #expect(sight.stamp != nil && sight.isCovered, "the page shows the film and the overlay")
        }

        /// Returns the child process of a program.
        private static func child(of program: RunningProgram) -> Int32? {
            guard let parent = program.processID else { return nil }
            let path = "/proc/\(parent)/task"
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            for thread in threads {
                let children = try? String(contentsOfFile: "\(path)/\(thread)/children", encoding: .utf8)
                if let first = children?.split(separator: " ").first { return Int32(first) }
            }
            return nil
        }

        @Test(
            "a page's audio is mixed in, in sync with its images, and the page receives what is played and a timeline",
            .enabled(if: ThisMachine.hasFFmpeg))
        func page() async throws {
            try await TestWorkspace.run { workspace in
                let film = workspace.path("silence.mkv")
                try await workspace.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=c=black:s=640x360:r=30", "-f", "lavfi",
                        "-i", "aevalsrc='0.02*sin(2*PI*440*t)':s=48000", "-t", "4", "-c:v", "libx264", "-preset",
                        "ultrafast", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", film,
                    ])
                let page = workspace.path("page.html")
                try Self.flashingPage.write(toFile: page, atomically: true, encoding: .utf8)
                let ground = try await TimelineGround.start(in: workspace)
                try await ground.add("--id", "goal-1", "--type", "goal", "--description", "A goal of the test")
                let uri = await ground.uri
                let channel = try workspace.pcast(
                    "playout", film, "--loop", "--overlay", "file://\(page)", "--overlay-without-sandbox",
                    "--timeline", "\(TimelineGround.league)/\(TimelineGround.game)", "--timeline-platform", uri,
                    "--timeline-token", try await ground.token(), "--spoiler", "--uri", uri, "--token",
                    try await workspace.token(LocalPlatform.application, "--type", "auth"), "--token",
                    try await workspace.token(LocalPlatform.application, "--type", "publish"), limit: .longestSuite)
                let stream = try #require(try await channel.event("publishing")["streamId"].text)

                // The page shows the text of each message, and reports what it shows.
                for wanted in ["silence.mkv", "A goal of the test"] {
                    let line = await channel.output.lines.first {
                        $0.contains("overlayMessage") && $0.contains("shown") && $0.contains(wanted)
                    }
                    #expect(line != nil, "\(wanted): \(channel.report)")
                }

                let record = workspace.path("channel.mkv")
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", uri, "--token", try await ground.token(for: stream), "--record", record)
                _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) >= 300 }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                let file = MediaFile(path: record, workspace: workspace)
                let (content, own) = (try await file.loudness(near: 440), try await file.loudness(near: 2_000))
                let rest = try await file.loudness(near: 5_000)
                #expect(content > rest + 15 && own > rest + 10, "\(content) dB, \(own) dB, and \(rest) dB elsewhere")
                let distances = try await file.beepsAfterFlashes(above: -20).sorted()
                try #require(distances.count >= 3)
                let median = distances[distances.count / 2]
                print("an overlay page: its audio is \(median) s behind its images")
                #expect(abs(median) < (ThisMachine.isFull ? 0.1 : 0.4))
                channel.send(SIGINT)
                try await channel.expectExitStatus(0)
            }
        }

        /// A page that covers the video with white and plays 2 kHz for 100 ms of each second, and shows the messages that it
        /// receives. It connects as `/bridge.js` does.
        private static let flashingPage = """
            <!doctype html><meta charset="utf-8"><title>Overlay</title><body style="margin:0">
            <div id="flash" style="position:fixed;inset:0;background:#fff;opacity:0"></div><pre id="text"></pre><script>
            const context = new AudioContext({ latencyHint: 0 });
            const [tone, gain] = [context.createOscillator(), context.createGain()];
            tone.frequency.value = 2000;
            gain.gain.value = 0;
            tone.connect(gain).connect(context.destination);
            tone.start();
            let wasOn = false;
            setInterval(() => {
              const isOn = performance.now() % 1000 < 100;
              if (isOn === wasOn) return;
              wasOn = isOn;
              gain.gain.setValueAtTime(isOn ? 0.6 : 0, context.currentTime);
              flash.style.opacity = isOn ? 1 : 0;
            }, 4);
            addEventListener("message", ({ ports: [port] }) => {
              if (!port) return;
              let seq = 0;
              const send = (event, metadata) =>
                port.postMessage(JSON.stringify({ v: 1, event, metadata, seq: ++seq, epoch: 0 }));
              port.onmessage = ({ data }) => {
                const { event, metadata } = JSON.parse(data);
                if (event === "bridge.keepalive") send("app.keepalive", {});
                if (event !== "channel.item" && !event.startsWith("timeline.")) return;
                text.textContent += JSON.stringify(metadata);
                send("shown", { text: text.innerText });
              };
              send("bridge.ready", {});
            });
            window.postMessage({ type: "pcast-bridge", version: 1 }, "*");
            </script>
            """

        @Test(
            "a platform's stream in a channel keeps its audio, in sync with its video",
            .enabled(if: ThisMachine.hasFFmpeg))
        func stream() async throws {
            try await TestWorkspace.run { workspace in
                let film = try await MediaFile.flashes(seconds: 120, in: workspace)
                let platform = try await LocalPlatform.start(in: workspace)
                let publishing = [
                    "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                    try await platform.publishingToken(),
                ]
                let pcast = try BuiltProgram.path("pcast")
                let publisher = try workspace.start(
                    pcast, ["publish", "--video", film.path, "--audio", film.path, "--json"] + publishing,
                    limit: .longestSuite)
                let source = try #require(try await publisher.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(source)
                let channel = try workspace.start(
                    pcast,
                    ["playout", "\(platform.uri)/watch/\(source)#token=\(token.addingPercentEncoding)", "--json"]
                        + publishing, limit: .longestSuite)
                let stream = try #require(try await channel.event("publishing")["streamId"].text)
                let record = workspace.path("channel.mkv")
                let viewer = try workspace.pcast(
                    "subscribe", "--uri", platform.uri, "--token", try await platform.viewingToken(stream), "--record",
                    record)
                _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) >= 240 }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                let distances = try await MediaFile(path: record, workspace: workspace).beepsAfterFlashes().sorted()
                try #require(distances.count >= 3)
                let median = distances[distances.count / 2]
                print("a stream in a channel: its audio is \(median) s behind its video")
                #expect(abs(median) < (ThisMachine.isFull ? 0.08 : 0.4))
                channel.send(SIGINT)
                try await channel.expectExitStatus(0)
            }
        }

        @Test("a page that cannot be drawn is reported before anything is published, with status 4")
        func unreachable() async throws {
            try await TestWorkspace.run { workspace in
                for options in [
                    ["--overlay", "http://127.0.0.1:9/", "--overlay-without-sandbox"],
                    ["--overlay", "data:text/html,x", "--browser", "no-such-browser"],
                ] {
                    let channel = try workspace.start(
                        BuiltProgram.path("pcast"),
                        ["playout", "film.mp4", "--listen", "127.0.0.1:0", "--json"] + options)
                    try await channel.expectExitStatus(4)
                    #expect(channel.events("publishing").isEmpty)
                    #expect(channel.messages.lines.values.contains { $0.contains("page") || $0.contains("browser") })
                }
            }
        }
    }
}
