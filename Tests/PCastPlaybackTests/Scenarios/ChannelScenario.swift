import Foundation
import PCastCore
import PCastIO
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// Endless playback with constant memory, and many concurrent players. `PCAST_FULL=1` makes the tests long, and
    /// `PCAST_PLAY_MINUTES=120` sets their duration.
    @Suite("Long and concurrent playback", .enabled(if: Program.hasFFmpeg))
    struct ChannelScenario {
        private static let isFull = ProcessInfo.processInfo.environment["PCAST_FULL"] == "1"
        /// The duration in minutes; nil to play a number of rounds.
        private static let minutes = ProcessInfo.processInfo.environment["PCAST_PLAY_MINUTES"].flatMap { Int($0) }
        private static let rounds = isFull ? 600 : 40

        @Test(
            "a list that loops at four times the speed does not increase memory and descriptors",
            .timeLimit(.minutes(30 + (minutes ?? 0))))
        func loop() async throws {
            let folder = try TemporaryFolder()
            let films = [StampedVideo(seconds: 1), StampedVideo(seconds: 1, first: 1_000)]
            try Program.runFFmpeg(
                "\(try films[0].inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 2 -g 25 -c:a aac -shortest a.mp4",
                in: folder.path)
            _ = try HLSFilm(films[1], segmentSeconds: 1, in: folder, name: "b")
            let origin = try TestOrigin(serving: folder)
            defer { origin.stop() }
            let shown = Mutex<(count: Int, last: Int)>((0, -1))
            let rounds = ChangeSignal()
            let screen = CountingScreen { stamp in shown.withLock { $0 = ($0.count + 1, stamp) } }
            let player = Player(.media(playsAudio: false, shownOn: screen))
            (player.loop, player.speed) = (true, 4)
            let failures = Mutex<[PlaybackError]>([])
            let events = player.events()
            let following = Task {
                for await event in events {
                    switch event.kind {
                    case .playlistCompleted: rounds.raise()
                    case .error(let error): failures.withLock { $0.append(error) }
                    default: break
                    }
                }
            }
            player.set(videos: [Video(origin.uri("/a.mp4")), Video(origin.uri("/b.m3u8"))], play: true)
            var figures: [ProcessMetrics] = []
            let began = MonotonicClock.now()
            for part in 1...4 {
                while true {
                    let count = rounds.count
                    if let minutes = Self.minutes {
                        if MonotonicClock.now() - began >= .seconds(Int64(minutes * 15 * part)) { break }
                    } else if count >= Self.rounds * part / 4 {
                        break
                    }
                    try Task.checkCancellation()
                    await rounds.wait(since: count)
                }
                figures.append(try ProcessMetrics.now())
                #expect(failures.withLock { $0 } == [])
            }
            #expect(shown.withLock { $0.count } >= rounds.count * 12, "at least twelve frames per second of film")
            // The first quarter includes one-time allocations. Other tests of the process start and end meanwhile.
            let (first, last) = (figures[0], figures[3])
            print(
                "a loop of \(rounds.count) rounds: \(figures.map { $0.memory >> 20 }) MiB, "
                    + "\(figures.map(\.descriptors)) descriptors, \(figures.map(\.threads)) threads")
            #expect(last.memory - first.memory < 64 << 20, "\(figures.map { $0.memory >> 20 }) MiB")
            #expect(last.descriptors - first.descriptors < 40 && last.threads - first.threads < 40)
            player.reset()
            await player.settled()
            following.cancel()
        }

        @Test("fifty concurrent players each show their film completely and in order", .timeLimit(.minutes(5)))
        func many() async throws {
            let film = StampedVideo(seconds: 4, rate: 5, dimensions: Dimensions(width: 320, height: 180))
            let origin = try TestOrigin(serving: film, segmentSeconds: 2)
            defer { origin.stop() }
            let stories = (0..<50).map { _ in PlaybackScenario(rate: film.rate) }
            let delays = Mutex<[TimeSpan]>([])
            let listeners = stories.map { scenario in
                let heard = Exclusive(0)
                return PositionListener { [screen = scenario.screen] in
                    // The first event after a frame belongs to that frame.
                    let sights = screen.sights
                    let isNew = heard.change { count in
                        defer { count = sights.count }
                        return sights.count > count
                    }
                    guard isNew, let sight = sights.last else { return }
                    delays.withLock { $0.append(MonotonicClock.now() - sight.instant) }
                }
            }
            for (scenario, listener) in zip(stories, listeners) {
                scenario.controller.addSessionConsumer(listener)
                scenario.player.set(video: Video(origin.uri("/s.m3u8")), play: true)
            }
            var shown = 0
            for scenario in stories {
                try await scenario.wait(for: "+ end")
                await scenario.player.settled()
                #expect(scenario.stamp == film.count - 1)
                #expect(scenario.isContinuous(scenario.sights))
                shown += scenario.sights.count
                let life = scenario.withoutStalls(scenario.life)
                #expect(life == ["bufferEmpty", "playRequest", "play", "ready", "likelyToKeepUp", "end"], "\(life)")
                await scenario.finish()
            }
            let sorted = delays.withLock { $0 }.sorted()
            try #require(!sorted.isEmpty)
            let worst = sorted[sorted.count * 99 / 100]
            print("fifty players: a frame is notified of after \(sorted[sorted.count / 2]), 99 of 100 after \(worst)")
            // A busy machine reports a frame together with the next one.
            #expect(sorted.count * 2 > shown)
        }
    }
}

/// Counts frames without keeping them.
private final class CountingScreen: UnseenSurface {
    private let seen: @Sendable (Int) -> Void

    init(_ seen: @escaping @Sendable (Int) -> Void) { self.seen = seen }

    func show(_ frame: VideoFrame) { seen(TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1) }
}

/// Receives positions as they are reported.
private final class PositionListener: PlaybackSessionConsumer {
    private let heard: @Sendable () -> Void

    init(_ heard: @escaping @Sendable () -> Void) { self.heard = heard }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        if case .at = progress { heard() }
    }
}
