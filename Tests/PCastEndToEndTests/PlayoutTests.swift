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
