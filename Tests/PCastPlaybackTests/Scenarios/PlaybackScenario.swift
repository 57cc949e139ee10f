import PCastCore
import PCastIO
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

/// Playback that is judged by the frames that are displayed in real time. These tests run one at a time, because frames
/// would be late on a machine whose processors are busy with other tests.
@Suite("Playback in real time", .serialized)
enum RealTimePlayback {}

/// A player that plays real media to its end: its displayed frames, its notifications, and waits for either. The
/// decoded frames are the reference, not the player's own reports.
final class PlaybackScenario: Sendable {
    /// The calls of the sessions to a consumer, including positions.
    let transcript: Transcript
    let screen: ScenarioScreen
    let evaluate = EventOrderChecker()
    let controller: PlaybackController
    /// The frame rate of what is played.
    let rate: Double
    private let changes = ChangeSignal()

    var player: Player { controller.player }

    /// Creates a story. The timeout is the maximum time without data of a segment. `playoutDelay` is the time from
    /// capture at which frames of live media are displayed; nil for the least.
    init(rate: Int = 25, timeout: Duration = .seconds(10), playoutDelay: Duration? = nil) {
        let changes = changes
        self.rate = Double(rate)
        transcript = Transcript(hasProgress: true) { changes.raise() }
        screen = ScenarioScreen { changes.raise() }
        let factory = PipelineFactory.media(
            playsAudio: false, shownOn: screen,
            configuration: HLSContent.Configuration(timeout: timeout, playoutDelay: playoutDelay))
        controller = PlaybackController(factory)
        controller.addSessionConsumer(transcript)
        controller.addSessionConsumer(evaluate)
        screen.watch(controller.player)
    }

    /// Returns an observer for which tests can wait.
    func observer() -> Transcript { Transcript { [changes] in changes.raise() } }

    /// Ends playback, and checks the rules that always hold.
    func finish() async {
        player.reset()
        await player.settled()
        #expect(evaluate.complaints == [])
    }

    // MARK: Displayed frames and notifications

    var sights: [ScenarioScreen.Sight] { screen.sights }
    var stamps: [Int] { sights.map(\.stamp) }
    /// The number of the displayed frame; -1 before the first one.
    var stamp: Int { stamps.last ?? -1 }

    /// The calls without positions.
    var received: [String] { transcript.all.filter { !$0.hasPrefix("progress") } }
    /// The life-cycle events of the sessions, abbreviated.
    var life: [String] { transcript.all.filter { $0.hasPrefix("+ ") }.map { String($0.dropFirst(2)) } }

    /// The reported positions, unbounded at both ends.
    var positions: [Double] {
        transcript.all.compactMap { $0.hasPrefix("progress ") ? Double($0.dropFirst("progress ".count)) : nil }
    }

    /// Returns lines without stalls, because a busy machine may cause them.
    func withoutStalls(_ lines: [String]) -> [String] {
        var left: [String] = []
        for line in lines {
            left.append(line)
            for stall in [
                ["bufferEmpty", "stalled", "likelyToKeepUp", "recovered"], ["playing, buffering", "playing"],
            ]
            where left.count > stall.count {
                let last = left.suffix(stall.count).map { $0.hasPrefix("+ ") ? String($0.dropFirst(2)) : $0 }
                let isPlaying = stall.count == 4 || left[left.count - 3] == "playing"
                if last == stall, isPlaying { left.removeLast(stall.count) }
            }
        }
        return left
    }

    func hasReported(_ line: String, after count: Int = 0) -> Bool {
        transcript.all.dropFirst(count).contains { $0.hasPrefix(line) }
    }

    /// Whether frames were shown in order, and none was left out by the player: a step is longer only if a busy machine
    /// took as long for it, or for the frame before it.
    func isContinuous(_ sights: some Collection<ScenarioScreen.Sight>) -> Bool {
        let sights = Array(sights)
        return sights.indices.dropFirst().allSatisfy { index in
            let step = Double(sights[index].stamp - sights[index - 1].stamp) / rate
            let passed = sights[index].instant - sights[max(index - 2, 0)].instant
            return step > 0 && step <= passed.seconds + 0.5
        }
    }

    /// Returns the number of frames by which the position is ahead of the displayed frame.
    func lead(of position: Double, first: Int = 0) -> Double { position * rate - Double(stamp - first) }

    /// Whether the displayed frame matches the reported position, within one frame.
    func isInStep(first: Int = 0) -> Bool { abs(lead(of: player.position, first: first)) <= 1.01 }

    // MARK: Waiting

    /// Waits until a condition is true, which is checked after each frame and event. The suite's time limit ends the
    /// wait.
    func wait(
        _ sourceLocation: SourceLocation = #_sourceLocation, until isSo: () -> Bool
    ) async throws {
        while true {
            let count = changes.count
            if isSo() { return }
            if Task.isCancelled {
                Issue.record(
                    "shown \(stamps.suffix(20)), reported \(transcript.all.suffix(30)), \(player.state) at \(player.position)",
                    sourceLocation: sourceLocation)
                throw CancellationError()
            }
            await changes.wait(since: count)
        }
    }

    /// Waits for a line that begins with a text, after the first `count` lines.
    func wait(
        for line: String, after count: Int = 0, _ sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(sourceLocation) { hasReported(line, after: count) }
    }

    /// Pauses, and waits until the frame at the position is displayed.
    func pause(first: Int = 0, _ sourceLocation: SourceLocation = #_sourceLocation) async throws {
        player.pause()
        await player.settled()
        try await wait(sourceLocation) { isInStep(first: first) }
    }
}

/// A screen that reads the number of each frame, and records the position that playback reported then.
final class ScenarioScreen: UnseenSurface {
    struct Sight: Sendable {
        /// The number of the frame; -1 if it cannot be read.
        var stamp: Int
        var instant: Instant
        /// The player's playhead when the frame arrived.
        var playhead: Playhead?
    }

    private struct State {
        var sights: [Sight] = []
        weak var player: Player?
    }

    private let state = Mutex(State())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func watch(_ player: Player) { state.withLock { $0.player = player } }

    /// All shown frames in order.
    var sights: [Sight] { state.withLock { $0.sights } }

    func show(_ frame: VideoFrame) {
        let stamp = TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1
        let playhead = state.withLock { $0.player }?.playhead
        state.withLock { $0.sights.append(Sight(stamp: stamp, instant: MonotonicClock.now(), playhead: playhead)) }
        changed()
    }
}

/// A surface that nobody sees: its arrangement has no effect, and it has no statistics and no events.
protocol UnseenSurface: RenderSurface {}

extension UnseenSurface {
    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}

extension RealTimePlayback {
    /// Cue points during playback and seeks, which a consumer receives.
    @Suite("Cue points in playback and seeks", .enabled(if: Program.hasFFmpeg))
    struct CuePointScenario {
        @Test("each move reports the cue points that it passes, once and in one event", .timeLimit(.minutes(5)))
        func windows() async throws {
            let origin = try TestOrigin(serving: StampedVideo(seconds: 8), segmentSeconds: 2)
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let player = scenario.player
            let points = [CuePoint.beforeContent()] + [2.0, 2.0, 5.0].map { CuePoint(at: .seconds($0)) }
            player.set(video: Video(origin.uri("/s.m3u8"), cuePoints: points + [.afterContent()]), play: true)
            try await scenario.wait { scenario.stamp >= 25 }
            try await scenario.pause()
            // The move starts at the last reported position.
            let left = try #require(scenario.positions.last)
            _ = try await player.seek(to: 6.0)
            await player.settled()
            #expect(scenario.stamp == 150)
            _ = try await player.seek(to: 1.0)
            await player.settled()
            #expect(scenario.stamp == 25)
            // A seek to the position of a cue point passes it, and one away from it does not.
            _ = try await player.seek(to: 2.0)
            _ = try await player.seek(to: 1.0)
            let passages = [
                "cue points 0.0 from -inf to 0.0", "cue points 2.0 2.0 5.0 from \(left) to 6.0",
                "cue points 2.0 2.0 5.0 from 6.0 to 1.0", "cue points 2.0 2.0 from 1.0 to 2.0",
            ]
            await player.settled()
            #expect(scenario.received.filter { $0.hasPrefix("cue") } == passages)
            let reported = scenario.positions.count
            player.speed = 4
            player.play()
            try await scenario.wait(for: "+ end")
            await player.settled()
            let later = scenario.positions.dropFirst(reported)
            let rest = scenario.received.filter { $0.hasPrefix("cue") }.dropFirst(passages.count)
            #expect(rest.count == 3)
            for (line, expected) in zip(
                rest, ["cue points 2.0 2.0 from", "cue points 5.0 from", "cue points inf from"])
            {
                #expect(line.hasPrefix(expected))
            }
            #expect(rest.last?.hasSuffix("to inf") == true)
            // During playback, a cue point is reported with the first frame at or after it.
            let passed = rest.dropLast().compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
            for (place, received) in zip([2.0, 5.0], passed) {
                #expect(received >= place && later.first { $0 >= place } == received)
            }
            await scenario.finish()
        }
    }
}

extension RealTimePlayback {
    /// A consumer that is added during playback.
    @Suite("Late consumers", .enabled(if: Program.hasFFmpeg))
    struct LateJoinersScenario {
        @Test("a late consumer receives the current state once, and then only new events", .timeLimit(.minutes(5)))
        func late() async throws {
            let origin = try TestOrigin(serving: StampedVideo(seconds: 4), segmentSeconds: 2)
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let player = scenario.player
            let address = origin.uri("/s.m3u8")
            player.set(
                video: Video(address, cuePoints: [CuePoint(at: .zero), CuePoint(at: .seconds(3 as Int64))]), play: true)
            try await scenario.wait { scenario.stamp >= 30 }
            let (consumer, observer) = (Transcript(hasProgress: true), Transcript(hasProgress: true))
            let (stamp, shown) = (scenario.stamp, scenario.stamps.count)
            scenario.controller.addSessionConsumer(consumer)
            player.addObserver(observer)
            scenario.controller.addSessionConsumer(consumer)
            player.addObserver(observer)
            try await scenario.wait(for: "+ end")
            await player.settled()
            let duration = player.duration
            #expect(
                consumer.all.prefix(5) == [
                    "session of \(address)", "media type 2", "session's duration \(duration)",
                    "ranges 0.0...\(duration)",
                    "elsewhere false",
                ])
            let rest = consumer.all.dropFirst(5)
            let positions = rest.compactMap { line in
                line.hasPrefix("progress ") ? Double(line.dropFirst("progress ".count)) : nil
            }
            // Progress begins with the next frame.
            #expect(positions.first.map { $0 * 25 >= Double(stamp) } == true && positions.last == .infinity)
            let happened = scenario.withoutStalls(rest.filter { !$0.hasPrefix("progress") })
            #expect(happened.map { String($0.prefix(14)) } == ["cue points 3.0", "+ end"])
            let seen = observer.all
            let states = ["playing, buffering", "playing", "paused", "finished"]
            #expect(seen.allSatisfy { $0.hasPrefix("position") || states.contains($0) })
            #expect(seen.suffix(2) == ["paused", "finished"])
            // A busy machine reports a frame together with the next ones.
            #expect(seen.count { $0.hasPrefix("position") } * 4 >= scenario.stamps.count - shown)
            // An observer is not notified twice, and not after its removal.
            player.removeObserver(observer)
            scenario.controller.removeSessionConsumer(consumer)
            let (received, observed) = (consumer.all.count, observer.all.count)
            _ = try await player.seek(to: 1.0)
            await player.settled()
            #expect(consumer.all.count == received && observer.all.count == observed)
            await scenario.finish()
        }
    }
}
