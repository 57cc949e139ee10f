import Logging
import PCastTimeline
import Testing

@testable import PCastPlayback

@Suite("A timeline without a given source")
struct PlayedPlatformTests {
    private struct Lines: LogHandler {
        let lines: Exclusive<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.change { $0.append("\(event.message)") } }
    }

    @Test("the source is the platform whose stream is played")
    func addresses() {
        let cases: [(String, String, String?)] = [
            ("pcast://127.0.0.1:8080/abc", "http://127.0.0.1:8080", nil),
            ("pcasts://a.example/abc#token=DIGEST%3Ax%3D", "https://a.example", "DIGEST:x="),
            ("http://127.0.0.1:8080/watch/abc#token=t", "http://127.0.0.1:8080", "t"),
            ("https://a.example/video/abc/index.m3u8?token=DIGEST%3Ax%3D", "https://a.example", "DIGEST:x="),
            ("https://a.example/below/video/abc/index.m3u8", "https://a.example/below", nil),
        ]
        for (address, uri, token) in cases {
            let platform = TimelinePlatform(of: Source(address))
            #expect(platform?.uri == uri && platform?.token == token, "\(address)")
        }
        for address in [
            "film.mp4", "https://a.example/live.m3u8", "https://a.example/video/film.mp4", "/video/a/b.m3u8",
        ] {
            #expect(TimelinePlatform(of: Source(address)) == nil)
        }
    }

    @Test("without a source canSubscribeEvents is false, and the reason is available and logged once")
    func nothing() async throws {
        let scripts = ScriptedPipelines()
        let player = Player(scripts.factory)
        let lines = Exclusive<[String]>([])
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player,
            logger: Logger(label: "test") { _ in Lines(lines: lines) })
        #expect(timeline.subscriptionFailure == nil)
        #expect(await !timeline.canSubscribeEvents())
        #expect(timeline.subscriptionFailure == .noPlatform)
        player.set(video: Video("film.mp4"), play: false)
        #expect(await !timeline.canSubscribeEvents())
        await #expect(throws: TimelineFollowError.noPlatform) { try await timeline.subscribeEvents() }
        #expect(timeline.subscriptionFailure == .noPlatform)
        #expect(
            lines.change({ $0 }).count == 1
                && lines.change({ $0 }).first?.contains("set the timeline's source") == true)
        // A platform that does not answer is another reason.
        player.set(video: Video("pcast://127.0.0.1:1/abc"), play: false)
        #expect(await !timeline.canSubscribeEvents())
        guard case .unreachable? = timeline.subscriptionFailure else {
            Issue.record("\(String(describing: timeline.subscriptionFailure))")
            return
        }
        #expect(lines.change({ $0 }).count == 2)
        player.reset()
    }

    @Test("after a subscription became possible there is no reason any more")
    func recovered() async throws {
        let player = Player(ScriptedPipelines().factory)
        let nameless = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player,
            source: ScriptedTimelines(exists: false))
        #expect(await !nameless.canSubscribeEvents())
        #expect(nameless.subscriptionFailure == .noGame)
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1"), player: player, source: ScriptedTimelines())
        #expect(await timeline.canSubscribeEvents() && timeline.subscriptionFailure == nil)
    }
}
