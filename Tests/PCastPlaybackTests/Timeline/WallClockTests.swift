import PCastCore
import PCastIO
import PCastTimeline
import Testing

@testable import PCastPlayback

@Suite("The wall clock of content without times")
struct WallClockTests {
    /// Records which frame was displayed when an event was delivered.
    private final class Witness: EventSendableDelegate {
        let received = Exclusive<[(line: String, frame: Int)]>([])
        private let scenario: PlaybackScenario

        init(_ scenario: PlaybackScenario) { self.scenario = scenario }

        func didReceive(
            event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
        ) {
            guard let data = metadata as? TimelineEventMetadata else { return }
            let frame = scenario.stamp
            received.change { $0.append((data.delivery.line, frame)) }
        }
    }

    private static func mapping(_ offset: Bool) -> WallClockMapping {
        let start = StampedVideo.captureTime
        guard offset else { return WallClockMapping(position: .seconds(2), wallTime: start + .seconds(2)) }
        return WallClockMapping(offset: .nanoseconds(start.nanosecondsSinceEpoch))
    }

    @Test(
        "a plain file has the wall clock that the application gives, and false receives events as per playhead progress",
        .timeLimit(.minutes(5)), .enabled(if: Program.hasFFmpeg), arguments: [true, false])
    func file(asOffset: Bool) async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 4)
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -g 25 -c:a aac -shortest film.mp4",
            in: folder.path)
        let scenario = PlaybackScenario()
        let (player, service) = (scenario.player, ScriptedTimelines())
        let recorder = Witness(scenario)
        player.eventDelegate = recorder
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "NHL", gameId: "1", spoiler: false), player: player, source: service)
        async let subscribed: Void = timeline.subscribeEvents()
        let connection = try #require(await service.connections.first { _ in true })
        let start = StampedVideo.captureTime.millisecondsSinceEpoch
        var log = TimelineScript()
        // The event was recorded twelve seconds late.
        try log.put("goal", at: Double(start + 2_000) / 1_000, recorded: Double(start + 14_000) / 1_000)
        connection.begin(log.log)
        try await subscribed
        player.set(
            video: Video("\(folder.path)/film.mp4", wallClock: Self.mapping(asOffset)), play: true)
        try await scenario.wait(for: "cue points")
        await timeline.settled()
        player.pause()
        let received = try #require(recorder.received.change({ $0.first }))
        #expect(received.line == "added goal")
        // Frame 50 is the goal's own, within one frame of the file's start. A busy machine may show others before the
        // call of the delegate.
        #expect(received.frame >= 49, "it was reported at frame \(received.frame)")
        let session = try #require(player.session)
        #expect(session.timecode(at: .seconds(1)) == StampedVideo.captureTime + .seconds(1))
        #expect(session.position(of: StampedVideo.captureTime + .seconds(3)) == .seconds(3))
        // A seek by wall-clock time works, too.
        _ = try await player.seek(to: StampedVideo.captureTime + .seconds(1))
        await player.settled()
        await timeline.settled()
        #expect((24...25).contains(scenario.stamp) && timeline.shownEvents.isEmpty)
        timeline.shutdown()
        await scenario.finish()
    }

    @Test(
        "for live media without dates the live edge counts as now", .timeLimit(.minutes(5)),
        .enabled(if: Program.hasFFmpeg))
    func live() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 12)
        let hls = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let origin = try TestOrigin { request in
            guard request.path.hasSuffix(".m3u8") else {
                return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
            }
            return .text(hls.playlist(0..<10, dates: request.path == "/dated.m3u8"))
        }
        defer { origin.stop() }
        let before = MonotonicClock.wallTime()
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let after = MonotonicClock.wallTime()
        var anchors = TimecodeAnchors()
        for anchor in try #require(content.overview).anchors {
            #expect(anchor.source == .liveEdge)
            anchors.add(anchor)
        }
        let edge = try #require(anchors.wallTime(at: .seconds(10 as Int64)))
        #expect(edge >= before && edge <= after)
        // A stream with dates uses its own dates.
        let dated = ThreadContent(origin.content("/dated.m3u8"))
        defer { dated.close() }
        _ = try await dated.open()
        #expect(dated.overview?.anchors.map(\.source).contains(.liveEdge) == false)
    }

    @Test("a late observation of the live edge changes nothing, and a paused edge begins another run")
    func edge() {
        func wall(_ seconds: Double) -> WallTime { WallTime(millisecondsSinceEpoch: Int64(seconds * 1_000)) }
        var clock = LiveEdgeClock()
        #expect(clock.anchors.isEmpty)
        func wallTime(at seconds: Double) -> WallTime? {
            var anchors = TimecodeAnchors()
            for anchor in clock.anchors { anchors.add(anchor) }
            return anchors.wallTime(at: TimeSpan(seconds: seconds))
        }
        clock.note(.seconds(10), at: wall(1_011))
        #expect(wallTime(at: 4) == wall(1_005))
        // The edge is observed earlier and later.
        clock.note(.seconds(12), at: wall(1_012.5))
        #expect(wallTime(at: 4) == wall(1_004.5))
        clock.note(.seconds(14), at: wall(1_016))
        // A repeated playlist contains no information about the current time.
        clock.note(.seconds(14), at: wall(1_040))
        #expect(wallTime(at: 4) == wall(1_004.5) && clock.anchors.count == 1)
        // No media were created for a minute.
        clock.note(.seconds(16), at: wall(1_078))
        #expect(wallTime(at: 4) == wall(1_004.5) && wallTime(at: 15) == wall(1_077) && clock.anchors.count == 2)
        for index in 0..<1_000 { clock.note(.seconds(Int64(18 + index)), at: wall(2_000 + 100 * Double(index))) }
        #expect(clock.anchors.count == 64)
    }

    @Test("a stream without capture times counts as live after five seconds, audio alone at once")
    func stream() throws {
        let (origin, wall) = (Instant(nanoseconds: 0), WallTime(millisecondsSinceEpoch: 1_780_000_000_000))
        func playhead(_ frames: Int64, captured: WallTime?, size: Dimensions?) -> Playhead {
            var stream = StreamPresentation(at: origin)
            stream.play(at: origin)
            for number in 0...frames {
                let span = TimeSpan.milliseconds(number * 40)
                stream.presented(
                    MediaTime(ticks: number * 3_600, rate: .video), captured: captured.map { $0 + span }, size: size,
                    at: origin + span, wallTime: wall + span)
            }
            return stream.clock.playhead(at: origin + .milliseconds(frames * 40))
        }
        let size = Dimensions(width: 640, height: 360)
        #expect(playhead(124, captured: nil, size: size).timecode == nil)
        #expect(playhead(200, captured: nil, size: size).timecode == wall + .seconds(8))
        #expect(playhead(0, captured: nil, size: nil).timecode == wall)
        let captured = wall - .milliseconds(200)
        #expect(playhead(200, captured: captured, size: size).timecode == captured + .seconds(8))
    }

    @Test("a pipeline without a mapping of its own extrapolates from its playhead, within 64 bits of nanoseconds")
    func extrapolation() {
        let pipeline = ScriptedPipeline(Source("https://origin.example/a.mp4")) { _ in }
        func open(from start: WallTime) {
            var film = ContentOverview.film(60)
            film.anchors = [TimecodeAnchor(position: .zero, wallTime: start, source: .file)]
            pipeline.open(film)
        }
        let start = StampedVideo.captureTime
        #expect(pipeline.position(of: start) == nil && pipeline.timecode(at: .zero) == nil)
        open(from: start)
        let middle = TimeSpan.seconds(30 as Int64)
        _ = pipeline.seek(to: middle)
        pipeline.completeSeek()
        #expect(pipeline.position(of: start + .seconds(40 as Int64)) == .seconds(40 as Int64))
        // A time may be outside the seekable range.
        #expect(pipeline.position(of: start - .seconds(5 as Int64)) == .seconds(-5 as Int64))
        #expect(pipeline.timecode(at: .seconds(70 as Int64)) == start + .seconds(70 as Int64))
        // At 30 s the time is 20 s after 1970, so that the distances of extreme times or their positions overflow.
        open(from: WallTime(millisecondsSinceEpoch: -10_000))
        #expect(pipeline.playhead.timecode == WallTime(millisecondsSinceEpoch: 20_000))
        #expect(pipeline.position(of: WallTime(nanosecondsSinceEpoch: .max)) == nil)
        #expect(pipeline.position(of: WallTime(nanosecondsSinceEpoch: .min)) == nil)
        #expect(pipeline.position(of: WallTime(millisecondsSinceEpoch: 0)) == .seconds(10 as Int64))
    }

    @Test("the application's time has precedence over the media's")
    func trust() {
        var anchors = TimecodeAnchors()
        for source in TimecodeAnchor.Source.allCases {
            let wallTime = WallTime(millisecondsSinceEpoch: Int64(source.rawValue) * 1_000)
            anchors.add(TimecodeAnchor(position: .zero, wallTime: wallTime, source: source))
            #expect(anchors.wallTime(at: .zero) == wallTime)
        }
        #expect(TimecodeAnchor.Source.allCases.last == .application)
        #expect(TimecodeAnchor.Source.allCases.first == .liveEdge)
    }
}
