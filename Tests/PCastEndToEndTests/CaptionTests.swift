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
        /// Ten cues of 600 ms, one each second, from 3 s on; then one of three minutes.
        private static let texts = (0..<10).map { "cue \($0) <b> & “x”\nsecond line" } + ["The last one"]

        private static func file(in workspace: TestWorkspace) throws -> String {
            let cues = texts.enumerated().map { number, text in
                let (begin, end) = (3 + number, number == 10 ? "03:00.000" : String(format: "00:%02d.600", 3 + number))
                let escaped = text.replacingOccurrences(of: "&", with: "&amp;")
                    .replacingOccurrences(of: "<", with: "&lt;")
                return String(format: "00:%02d.000 --> ", begin) + "\(end)\n\(escaped)\n"
            }
            let path = workspace.path("captions.vtt")
            try ("WEBVTT\n\n" + cues.joined(separator: "\n")).write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        private static func publish(
            _ captions: String, to platform: LocalPlatform, in workspace: TestWorkspace
        ) throws -> RunningProgram {
            try workspace.start(
                BuiltProgram.path("pcast"),
                [
                    "publish", "--uri", platform.uri, "--video", "synthetic", "--audio", "synthetic", "--captions",
                    captions, "--json",
                ], hears: captions == "-")
        }

        /// The cues that a publisher has reported as sent.
        private static func cues(_ publisher: RunningProgram) throws -> [CaptionCue] {
            try publisher.events("caption").map { event in
                let text = try #require(event["captureTime"].text)
                return CaptionCue(
                    text: try #require(event["text"].text), captureTime: try #require(Timestamp.parse(text)),
                    duration: TimeSpan(seconds: try #require(event["duration"].number)))
            }
        }

        @Test(
            "Called for subtitled videos when player asks to show the given string of text: captions of a live stream are shown on their frames"
        )
        func frames() async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try Self.publish(try Self.file(in: workspace), to: platform, in: workspace)
                let name = try #require(try await publisher.event("publishing")["streamId"].text)
                // Two renderers of one stream, of which one is half a second behind.
                let watched = try await WatchedStream.open(name, of: platform)
                let renderers = (0..<2).map { _ in
                    watched.stream.createRenderer(RendererOptions(useNullAudioDevice: true))
                }
                renderers[1].overridePlayoutDelay(.milliseconds(500))
                let screens = renderers.map { CaptionScreen($0) }
                for renderer in renderers { #expect(renderer.start() == .ok) }
                // And a player.
                let link = "pcast://\(platform.uri.dropFirst("http://".count))/\(name)"
                let player = try workspace.pcast("play", link, "--render", "null")
                for screen in screens {
                    #expect(await screen.sights.first { $0.text == "The last one" } != nil)
                }
                let cues = try Self.cues(publisher)
                #expect(cues.map(\.text) == Self.texts)
                for (number, screen) in screens.enumerated() {
                    // The strip of a frame says when it was captured, by the publisher's clock.
                    let sights = screen.sights.values
                    let wrong = sights.filter { sight in
                        let due = Self.text(cues, at: sight.captured)
                        // A frame is 33 ms. The first frames of a run may have no capture time yet.
                        let near = [-35, 35].map { Self.text(cues, at: sight.captured + .milliseconds($0)) }
                        return sight.text != due && !near.contains(sight.text)
                    }
                    let shown = Self.texts.filter { text in sights.contains { $0.text == text } }
                    print("captions: renderer \(number), \(sights.count) frames, \(wrong.count) with another text")
                    #expect(shown == Self.texts && wrong.isEmpty, "\(wrong)")
                }
                // Cues arrive before their frames.
                let known = await watched.stream.captions.first { _ in true } ?? []
                #expect(known.map(\.text) == Self.texts)
                for (cue, sent) in zip(known, cues) {
                    #expect((cue.captureTime - sent.captureTime).magnitude < .milliseconds(35))
                    #expect(cue.duration == sent.duration)
                }
                _ = try await player.event("subtitle") { $0["text"].text == "The last one" }
                let received = player.events("subtitle").compactMap { $0["text"].text }
                // The player may have begun after the first cue.
                #expect(received == Self.texts.suffix(received.count) && received.count > 5, "\(received)")
                publisher.send(SIGINT)
                #expect(try await player.exitStatus() == 0)
                for renderer in renderers { renderer.stop() }
                await watched.close()
                try await platform.program.end()
            }
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
                let publisher = try Self.publish("-", to: platform, in: workspace)
                let name = try #require(try await publisher.event("publishing")["streamId"].text)
                let token = try await platform.viewingToken(name)
                let browser = try await Browser.start(in: workspace)
                try await browser.open("\(platform.uri)/watch/\(name)#token=\(token.addingPercentEncoding)")
                try await browser.wait(for: "document.getElementById('video').currentTime > 1")
                #expect(try await browser.evaluate("document.getElementById('cc').hidden") == .bool(true))
                let line = "<img src=x> & ‘quotes’"
                try publisher.notify(line)
                try publisher.notify("A second line that is so long that it may need more than one row of the frame")
                _ = try await publisher.event("caption") { $0["text"].text == line }
                let shown = "[...document.querySelectorAll('#captions span')].map((each) => each.textContent)"
                try await browser.wait(for: "\(shown).length === 2")
                #expect(try await browser.evaluate(shown).list.first?.text == line)
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
                // Each is shown for 4 s.
                try await browser.wait(for: "document.getElementById('captions').hidden")
                try await browser.click("#cc")
                try publisher.notify("hidden")
                _ = try await publisher.event("caption") { $0["text"].text == "hidden" }
                try await browser.click("#cc")
                try await browser.wait(for: "\(shown).join() === 'hidden'")
                #expect(try await browser.problems() == [])
                try await browser.end()
                publisher.send(SIGINT)
                #expect(try await publisher.exitStatus() == 0)
                try await platform.program.end()
            }
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
        if let before { sights.add(Sight(captured: before, text: renderer.caption.value)) }
    }

    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
