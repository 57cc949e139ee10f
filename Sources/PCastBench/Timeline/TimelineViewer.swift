import PCastCore
import PCastIO
import PCastPlayback
import PCastTestSupport
import PCastTimeline
import Synchronization

/// A viewer of a ``TimelineScenario`` who plays and seeks within a range of positions. Each event delivered to the
/// viewer is compared with the frame shown at that time.
final class TimelineViewer: Sendable {
    struct ViewerPosition: Sendable {
        var name: String
        /// The range of the viewer's distance from the live edge, in seconds.
        var behind: ClosedRange<Double>
        /// Whether the viewer seeks from time to time.
        var seeks: Bool
        var spoiler = false
    }

    struct Metrics: Sendable {
        /// Events delivered to the viewer.
        var delivered = 0
        var seeks = 0
        /// Events delivered before their frame was shown.
        var early = 0
        /// The times from a frame to the delivery of its event, in milliseconds.
        var late: [Double] = []
        /// The number of comparisons in which the viewer's events differed from the expected ones.
        var wrongSets = 0
        var sets = 0
    }

    private final class RecordingDelegate: EventSendableDelegate {
        private let delivered = Mutex<[TimelineOracle.ReceivedDelivery]>([])

        var all: [TimelineOracle.ReceivedDelivery] { delivered.withLock { $0 } }

        func didReceive(
            event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
        ) {
            let moment = MonotonicClock.now()
            guard let data = metadata as? TimelineEventMetadata else { return }
            delivered.withLock { $0.append(.init(delivery: data.delivery, moment: moment)) }
        }
    }

    /// The distance in seconds from both ends of the seekable range, because parts leave it at the start and are not
    /// yet available at the end.
    private static let margin = 4.0

    let viewerPosition: ViewerPosition
    private let playback = MeasuredPlayback()
    private let recorder = RecordingDelegate()
    private let timeline: GameTimeline
    private let origin: TestHLSOrigin
    private let seed: UInt64

    init(
        _ viewerPosition: ViewerPosition, of origin: TestHLSOrigin, following game: TimelineGame,
        on setup: TimelineSetup, seed: UInt64
    ) {
        (self.viewerPosition, self.origin, self.seed) = (viewerPosition, origin, seed)
        timeline = GameTimeline(
            TimelineConfiguration(leagueName: game.league, gameId: game.game, spoiler: viewerPosition.spoiler),
            player: playback.player, source: TimelinePlatform(uri: setup.uri))
        playback.player.eventDelegate = recorder
    }

    func begin() async throws {
        _ = try await playback.start(origin.uri("live.m3u8"))
        if viewerPosition.behind.lowerBound > 0 { try await seek(by: 0.5) }
        try await timeline.subscribeEvents()
    }

    /// Seeks within the viewer's range. `share` is the relative position, where 0 is the end farthest from the live
    /// edge. Returns whether the seek succeeded.
    @discardableResult
    private func seek(by share: Double) async throws -> Bool {
        guard let range = playback.player.playhead?.seekableRange else { return false }
        let length = (range.upperBound - range.lowerBound).seconds
        let (near, far) = (
            viewerPosition.behind.lowerBound, min(viewerPosition.behind.upperBound, length - Self.margin)
        )
        guard far > near else { return false }
        let behind = far - (far - near) * share
        return (try? await playback.player.seek(to: range.upperBound - .seconds(behind))) != nil
    }

    /// Watches for the given number of seconds and seeks from time to time if the viewer does. Returns the number of
    /// seeks.
    func watch(_ seconds: Int) async throws -> Int {
        guard viewerPosition.seeks else {
            try await Task.sleep(for: .seconds(seconds))
            return 0
        }
        var generator = SeededGenerator(seed: seed)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        var seeks = 0
        while MonotonicClock.now() < end {
            try await Task.sleep(for: .milliseconds(Int64(1_500 + generator.next(below: 2_500))))
            if try await seek(by: Double(generator.next(below: 1_000)) / 1_000) { seeks += 1 }
        }
        return seeks
    }

    /// Pauses at several positions and compares the viewer's events with those that a new viewer would get there, then
    /// evaluates all deliveries. `log` is the platform's complete log. Throws `BenchFailure` if no frame was shown.
    func evaluate(by log: TimelineLog, seeks: Int) async throws -> Metrics {
        var metrics = Metrics()
        metrics.seeks = seeks
        playback.player.pause()
        for share in [0.1, 0.9, 0.3, 0.7, 0.5] {
            try await seek(by: share)
            await playback.player.settled()
            await timeline.settled()
            metrics.sets += 1
            if try !hasExpectedEvents(log) { metrics.wrongSets += 1 }
        }
        if !viewerPosition.spoiler { evaluate(by: log, &metrics) } else { metrics.delivered = recorder.all.count }
        return metrics
    }

    private func hasExpectedEvents(_ log: TimelineLog) throws -> Bool {
        let known = Set(timeline.shownEvents)
        if viewerPosition.spoiler { return known == Set(log.events) }
        guard let shownFrame = playback.recorder.shownFrames.last else { throw BenchFailure("no frame was rendered") }
        // The player's reported position must agree with the frame shown.
        guard let moment = playback.player.playhead?.timecode else { return false }
        let into = moment - origin.wallTime(of: StampedVideo.position(of: shownFrame.counter))
        guard into >= .zero - TimelineOracle.rounding, into < TimelineOracle.frameLength + TimelineOracle.rounding
        else { return false }
        return [moment - TimelineOracle.rounding, moment, moment + TimelineOracle.rounding].contains { moment in
            Set(TimelineGate.shown(of: log, at: .at(moment)).events.values.compactMap { log[$0]?.event }) == known
        }
    }

    private func evaluate(by log: TimelineLog, _ metrics: inout Metrics) {
        let (now, wallTime) = (MonotonicClock.now(), MonotonicClock.wallTime())
        let oracle = TimelineOracle(
            shownFrames: playback.recorder.shownFrames,
            time: { self.origin.wallTime(of: StampedVideo.position(of: $0)) },
            recorded: { number in log[number].map { now + ($0.recordedAt - wallTime) } })
        let verdict = oracle.judge(recorder.all)
        (metrics.delivered, metrics.early, metrics.late) = (verdict.delivered, verdict.early, verdict.late)
    }

    func end() async {
        timeline.shutdown()
        await playback.stop()
    }
}
