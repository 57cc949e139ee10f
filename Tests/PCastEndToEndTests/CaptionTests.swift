import Foundation
import PCast
import PCastCore
import PCastPlayback
import PCastRendering
import Synchronization
import Testing

extension EndToEnd {
    /// Captions of live streams, from `pcast publish` to viewers.
    @Suite("Captions", .timeLimit(.minutes(5)))
    struct CaptionTests {
        /// Cues of 600 ms, one each second, from 3 s on, for longer than any test needs.
        private static let texts = (0..<170).map { "cue \($0) <b> & “x”\nsecond line" }

        /// The number of cues that each viewer must show, with their frames and the frames between them.
        private static let count = 7

        /// A cue of a file with its times in seconds.
        private struct FileCue {
            var text: String
            var begin: Double
            var end: Double
        }

        private static func write(_ cues: [FileCue], in workspace: TestWorkspace) throws -> String {
            func time(_ seconds: Double) -> String {
                String(format: "%02d:%06.3f", Int(seconds) / 60, seconds - Double(Int(seconds) / 60 * 60))
            }
            let lines = cues.map { cue in
                let escaped = cue.text.replacingOccurrences(of: "&", with: "&amp;")
                    .replacingOccurrences(of: "<", with: "&lt;")
                return "\(time(cue.begin)) --> \(time(cue.end))\n\(escaped)\n"
            }
            let path = workspace.path("captions.vtt")
            try ("WEBVTT\n\n" + lines.joined(separator: "\n")).write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        private static func publish(
            _ captions: String, to platform: LocalPlatform, in workspace: TestWorkspace
        ) throws -> RunningProgram {
            try workspace.start(
                BuiltProgram.path("pcast"),
                [
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic", "--size",
                    "640x360",
                    "--captions", captions, "--json",
                ], hears: captions == "-")
        }

        /// The cues that a publisher has reported as sent. `late` contains those that a busy publisher has sent so late that
        /// viewers may display their first frames before.
        private static func cues(_ publisher: RunningProgram) throws -> (all: [CaptionCue], late: [CaptionCue]) {
            var (all, late): ([CaptionCue], [CaptionCue]) = ([], [])
            for event in publisher.events("caption") {
                let text = try #require(event["captureTime"].text)
                let cue = CaptionCue(
                    text: try #require(event["text"].text), captureTime: try #require(Timestamp.parse(text)),
                    duration: .seconds(try #require(event["duration"].number)))
                all.append(cue)
                let sent = WallTime(millisecondsSinceEpoch: Int64(try event.time.timeIntervalSince1970 * 1_000))
                // They are sent two seconds before their frames.
                if cue.captureTime - sent < .seconds(1) { late.append(cue) }
            }
            return (all, late)
        }

        @Test(
            "Called for subtitled videos when player asks to show the given string of text: captions of a live stream are shown on their frames"
        )
        func frames() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let file = Self.texts.enumerated().map { number, text in
                    FileCue(text: text, begin: Double(3 + number), end: Double(3 + number) + 0.6)
                }
                let publisher = try Self.publish(try Self.write(file, in: workspace), to: platform, in: workspace)
                let name = try #require(try await publisher.event("publishing")["streamId"].text)
                // Two renderers of one stream, of which one is half a second behind.
                let watched = try await WatchedStream.open(name, of: platform)
                // A viewer that joins during a caption shows frames of it as soon as it has received it.
                #expect(await watched.stream.captions.first { !$0.isEmpty } != nil)
                let renderers = (0..<2).map { _ in
                    watched.stream.createRenderer(RendererOptions(useNullAudioDevice: true))
                }
                renderers[1].overridePlayoutDelay(.milliseconds(500))
                let screens = renderers.map { CaptionScreen($0) }
                for renderer in renderers { try renderer.start() }
                // And a player.
                let link = "pcast://\(platform.uri.dropFirst("http://".count))/\(name)"
                let player = try workspace.pcast("play", link, "--render", "null")
                for screen in screens {
                    #expect(await screen.sights.first { _ in screen.texts.count >= Self.count } != nil)
                }
                _ = try await player.event("subtitle") { _ in Self.subtitles(player).count > Self.count / 2 }
                // The publisher has reported each caption of these frames after it has reported the last known one.
                let all = screens.map(\.sights.values)
                let known = await watched.stream.captions.first { _ in true } ?? []
                let last = try #require(known.last)
                _ = try await publisher.event("caption") { $0["text"].text == last.text }

                // A busy publisher leaves out captions whose time has passed.
                let (cues, late) = try Self.cues(publisher)
                #expect(Self.areInOrder(cues.map(\.text)), "\(cues.map(\.text))")
                for (number, sights) in all.enumerated() {
                    // The strip of a frame says when it was captured, by the publisher's clock.
                    let wrong = sights.filter { sight in
                        let due = Self.text(cues, at: sight.captured)
                        // A frame is 33 ms. The first frames of a run may have no capture time yet.
                        let near = [-35, 35].map { Self.text(cues, at: sight.captured + .milliseconds($0)) }
                        if sight.text == nil, Self.text(late, at: sight.captured) != nil { return false }
                        return sight.text != due && !near.contains(sight.text)
                    }
                    print("captions: renderer \(number), \(sights.count) frames, \(wrong.count) with another text")
                    #expect(wrong.isEmpty, "\(wrong)")
                }
                // Cues arrive before their frames.
                for cue in known {
                    let sent = try #require(cues.first { $0.text == cue.text })
                    #expect((cue.captureTime - sent.captureTime).magnitude < .milliseconds(35))
                    #expect(cue.duration == sent.duration)
                }
                #expect(Self.areInOrder(Self.subtitles(player)), "\(Self.subtitles(player))")
                publisher.send(SIGINT)
                try await player.expectExitStatus(0)
                for renderer in renderers { renderer.stop() }
                await watched.close()
                try await platform.program.end()
            }
        }

        /// The texts that a player has displayed.
        private static func subtitles(_ player: RunningProgram) -> [String] {
            player.events("subtitle").compactMap { $0["text"].text }
        }

        /// Whether texts of the file are in its order, and none is repeated.
        private static func areInOrder(_ texts: [String]) -> Bool {
            let numbers = texts.map { text in Self.texts.firstIndex(of: text) ?? -1 }
            return numbers.allSatisfy { $0 >= 0 } && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        }

        private static func text(_ cues: [CaptionCue], at time: WallTime) -> String? {
            cues.first { $0.captureTime <= time && time < $0.end }?.text
        }

        @Test(
            "A page shows captions over the video, as text, and a button hides them",
            .enabled(if: ThisMachine.hasChromium && ThisMachine.hasPython))
        func page() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let line = "<img src=x> & ‘quotes’"
                let long = "A second line that is so long that it may need more than one row of the frame"
                // Two cues last as long as the test. The others show that a cue is removed at its end.
                let lasting = [line, long].map { FileCue(text: $0, begin: 1, end: 175) }
                let short = stride(from: 2.0, to: 170, by: 4).map { FileCue(text: "short", begin: $0, end: $0 + 1) }
                let publisher = try Self.publish(
                    try Self.write(lasting + short, in: workspace), to: platform, in: workspace)
                let name = try #require(try await publisher.event("publishing")["streamId"].text)
                let browser = try await Browser.start(in: workspace)
                try await browser.open(try await Self.page(of: name, at: platform))
                let shown = "[...document.querySelectorAll('#captions span')].map((each) => each.textContent)"
                try await browser.wait(for: "\(shown).length === 2")
                #expect(try await browser.evaluate("\(shown)[0]").text == line)
                #expect(try await browser.evaluate("document.querySelector('#captions img') === null") == .bool(true))
                let inside = """
                    (() => {
                      const [inner, outer] = ["captions", "video"].map((id) =>
                        document.getElementById(id).getBoundingClientRect());
                      const middle = (inner.top + inner.bottom) / 2;
                      return inner.height > 0 && middle > (outer.top + outer.bottom) / 2 && inner.bottom <= outer.bottom;
                    })()
                    """
                #expect(try await browser.evaluate(inside) == .bool(true))
                try await browser.screenshot(screenshot(in: workspace))
                // The changes are recorded, because a caption may be gone before the next query.
                try await browser.evaluate(
                    """
                    window.numbers = [], new MutationObserver(() => numbers.push(\(shown).length))
                      .observe(document.getElementById("captions"), { childList: true }), true
                    """)
                try await browser.wait(for: "numbers.join().includes('3,2')")
                try await browser.click("#cc")
                try await browser.wait(for: "document.getElementById('captions').hidden && \(shown).length === 0")
                try await browser.click("#cc")
                try await browser.wait(
                    for: "!document.getElementById('captions').hidden && \(shown).includes('\(long)')")
                try await Self.lines(to: platform, browser, in: workspace)
                #expect(try await browser.problems() == [])
                try await browser.end()
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                try await platform.program.end()
            }
        }

        /// Returns the address of the page of a stream.
        private static func page(of stream: String, at platform: LocalPlatform) async throws -> String {
            let token = try await platform.viewingToken(stream)
            return "\(platform.uri)/watch/\(stream)#token=\(token.addingPercentEncoding)"
        }

        /// Lines of standard input are captions of four seconds, and the page has its button when there is one.
        private static func lines(
            to platform: LocalPlatform, _ browser: Browser, in workspace: TestWorkspace
        ) async throws {
            let publisher = try publish("-", to: platform, in: workspace)
            let name = try #require(try await publisher.event("publishing")["streamId"].text)
            try await browser.open(try await page(of: name, at: platform), at: "lines")
            try await browser.wait(for: "document.getElementById('video').currentTime > 0", at: "lines")
            #expect(try await browser.evaluate("document.getElementById('cc').hidden", at: "lines") == .bool(true))
            try publisher.notify("a line")
            #expect(try await publisher.event("caption") { $0["text"].text == "a line" }["duration"].number == 4)
            try await browser.wait(for: "!document.getElementById('cc').hidden", at: "lines")
            #expect(try await browser.problems(at: "lines") == [])
            publisher.send(SIGINT)
            try await publisher.expectExitStatus(0)
        }

        /// Where the page's frame is kept: in `PCAST_SCREENSHOTS` if that is set.
        private func screenshot(in workspace: TestWorkspace) -> String {
            let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"]
            return folder.map { "\($0)/captions.png" } ?? workspace.path("captions.png")
        }

        @Test("A file of captions that cannot be read is refused before anything is published")
        func unreadable() async throws {
            try await TestWorkspace.run { workspace in
                let path = workspace.path("broken.srt")
                try "1\n00:00:02,000 --> 00:00:01,000\nx\n".write(toFile: path, atomically: true, encoding: .utf8)
                let publisher = try workspace.pcast("publish", "--captions", path)
                #expect(try await publisher.exitStatus() != 0)
                #expect(publisher.messages.lines.values.contains { $0.contains("line 2") })
                #expect(publisher.events("publishing").isEmpty)
            }
        }
    }
}

/// A surface that notes the captions of each frame.
private final class CaptionScreen: RenderSurface {
    struct Sight: Sendable {
        /// By the strip of the frame.
        var captured: WallTime
        var text: String?
    }

    let sights = Awaited<Sight>()
    private let shown = Mutex<Set<String>>([])
    private let renderer: Renderer
    private let last = Mutex<WallTime?>(nil)

    init(_ renderer: Renderer) {
        self.renderer = renderer
        renderer.setRenderSurface(self)
    }

    func show(_ frame: VideoFrame) {
        // The captions of a frame are set after the frame is shown. Those of the one before are read here.
        let now = WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000))
        let captured = TestPatternStrip.read(frame)?.captureTime(near: now)
        let before = last.withLock { last in
            defer { last = frame.captureTime == nil ? nil : captured }
            return last
        }
        guard let before else { return }
        let text = renderer.caption.value
        if let text { shown.withLock { _ = $0.insert(text) } }
        sights.add(Sight(captured: before, text: text))
    }

    /// The different texts so far.
    var texts: Set<String> { shown.withLock { $0 } }

    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
