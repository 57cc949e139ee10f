import PCastCore
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// A film on demand.
    @Suite("A film on demand", .enabled(if: Program.hasFFmpeg))
    struct OnDemandScenario {
        @Test("the displayed frame matches the position, and all events are in order", .timeLimit(.minutes(5)))
        func film() async throws {
            let film = StampedVideo(seconds: 6)
            let origin = try TestOrigin(serving: film, segmentSeconds: 2)
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let player = scenario.player
            let observer = scenario.observer()
            player.addObserver(observer)
            player.set(video: Video(origin.uri("/s.m3u8")), play: false)
            try await scenario.wait(for: "+ ready")
            #expect(scenario.stamps == [0] && player.state == .paused(buffering: false) && player.position == 0)

            player.play()
            try await scenario.wait { scenario.stamp >= 20 }
            try await scenario.pause()
            #expect(player.state == .paused(buffering: false))
            let paused = scenario.stamps.count

            let landed = try await player.seek(to: 3.0)
            #expect(landed == 3 && player.position == 3 && scenario.stamps.dropFirst(paused).allSatisfy { $0 == 75 })
            #expect(scenario.stamp == 75 && player.state == .paused(buffering: false))
            // A seek back decodes the same frames again.
            #expect(try await player.seek(to: 0.52) == 0.52)
            #expect(scenario.stamp == 13)
            _ = try await player.seek(to: 3.0)
            let before = scenario.stamps.count

            player.toggle()
            try await scenario.wait { scenario.stamp >= 100 }
            player.toggle()
            await player.settled()
            #expect(player.state == .paused(buffering: false))
            player.toggle()
            try await scenario.wait(for: "+ end")
            await player.settled()
            #expect(scenario.stamp == film.count - 1)
            #expect(abs(player.position - 6) < 0.05 && player.position == player.duration)
            #expect(player.state == .paused(buffering: false) && player.overlayState == .stopped)
            let rest = scenario.sights.dropFirst(before)
            // A busy machine may omit frames. None comes twice or out of order.
            #expect(scenario.isContinuous(rest), "\(rest.map(\.stamp))")
            expectSteps(scenario)

            #expect(
                scenario.withoutStalls(observer.all) == [
                    "video \(origin.uri("/s.m3u8"))", "paused, buffering", "duration \(player.duration)", "paused",
                    "ready",
                    "playing", "paused", "paused, buffering", "paused", "paused, buffering", "paused",
                    "paused, buffering",
                    "paused", "playing", "paused", "playing", "paused", "finished",
                ])
            // Another playback begins at the beginning.
            player.play()
            try await scenario.wait { scenario.stamps.dropFirst(before + rest.count).first == 0 && scenario.stamp >= 5 }
            await scenario.finish()
        }

        /// Expects that each frame was shown at its position. A busy machine shows some late.
        private func expectSteps(_ scenario: PlaybackScenario) {
            let apart = scenario.sights.compactMap { sight in
                sight.playhead.map { abs($0.position.seconds * scenario.rate - Double(sight.stamp)) }
            }
            #expect(apart.count { $0 > 1.01 } * 10 <= apart.count, "\(apart)")
        }

        @Test("observers are held weakly, and a released player ends its threads", .timeLimit(.minutes(5)))
        func leaks() async throws {
            let origin = try TestOrigin(serving: StampedVideo(seconds: 2), segmentSeconds: 1)
            defer { origin.stop() }
            weak var player: Player?
            weak var session: PlaybackSession?
            do {
                let scenario = PlaybackScenario()
                weak var gone: Transcript?
                do {
                    let observer = scenario.observer()
                    scenario.player.addObserver(observer)
                    scenario.player.set(video: Video(origin.uri("/s.m3u8")), play: true)
                    try await scenario.wait { observer.all.contains("ready") }
                    gone = observer
                }
                (player, session) = (scenario.player, scenario.player.session)
                let count = scenario.stamps.count
                try await scenario.wait { scenario.stamps.count > count + 5 }
                #expect(gone == nil && session != nil)
                await scenario.finish()
            }
            #expect(player == nil && session == nil)
        }
    }
}
