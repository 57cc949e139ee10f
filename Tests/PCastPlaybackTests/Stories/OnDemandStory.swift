import PCastCore
import Testing

@testable import PCastPlayback

/// A film on demand.
@Suite("A film on demand", .enabled(if: Program.hasFFmpeg))
struct OnDemandStory {
    @Test("the displayed frame matches the position, and all events are in order", .timeLimit(.minutes(2)))
    func film() async throws {
        let folder = try TemporaryFolder()
        let film = StampedFilm(seconds: 6)
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let story = Story()
        let player = story.player
        let observer = story.observer()
        player.addObserver(observer)
        player.set(video: Video(origin.uri("/s.m3u8")), play: false)
        try await story.wait(for: "+ ready")
        #expect(story.stamps == [0] && player.state == .paused(buffering: false) && player.position == 0)

        player.play()
        try await story.wait { story.stamp >= 20 }
        try await story.pause()
        #expect(player.state == .paused(buffering: false))
        let paused = story.stamps.count

        let landed = try await player.seek(to: 3.0)
        #expect(landed == 3 && player.position == 3 && story.stamps.dropFirst(paused).allSatisfy { $0 == 75 })
        #expect(story.stamp == 75 && player.state == .paused(buffering: false))
        // A seek back decodes the same frames again.
        #expect(try await player.seek(to: 0.52) == 0.52)
        #expect(story.stamp == 13)
        _ = try await player.seek(to: 3.0)
        let before = story.stamps.count

        player.toggle()
        try await story.wait { story.stamp >= 100 }
        player.toggle()
        await player.settled()
        #expect(player.state == .paused(buffering: false))
        player.toggle()
        try await story.wait(for: "+ end")
        await player.settled()
        #expect(story.stamp == film.count - 1)
        #expect(abs(player.position - 6) < 0.05 && player.position == player.duration)
        #expect(player.state == .paused(buffering: false) && player.overlayState == .stopped)
        let rest = story.stamps.dropFirst(before)
        // A busy machine may omit frames. None comes twice or out of order.
        #expect(zip(rest, rest.dropFirst()).allSatisfy { $0 < $1 } && rest.count > 40)
        expectSteps(story)

        #expect(
            story.withoutStalls(observer.all) == [
                "video \(origin.uri("/s.m3u8"))", "paused, buffering", "duration \(player.duration)", "paused", "ready",
                "playing", "paused", "paused, buffering", "paused", "paused, buffering", "paused", "paused, buffering",
                "paused", "playing", "paused", "playing", "paused", "finished",
            ])
        // Another playback begins at the beginning.
        player.play()
        try await story.wait { story.stamps.dropFirst(before + rest.count).first == 0 && story.stamp >= 5 }
        await story.finish()
    }

    /// Expects that each frame was shown at its position. A busy machine shows some late.
    private func expectSteps(_ story: Story) {
        let apart = story.sights.compactMap { sight in
            sight.playhead.map { abs($0.position.seconds * story.rate - Double(sight.stamp)) }
        }
        #expect(apart.count { $0 > 1.01 } * 10 <= apart.count, "\(apart)")
    }

    @Test("observers are held weakly, and a released player ends its threads", .timeLimit(.minutes(2)))
    func leaks() async throws {
        let folder = try TemporaryFolder()
        let film = StampedFilm(seconds: 2)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        weak var player: Player?
        weak var session: PlaybackSession?
        do {
            let story = Story()
            weak var gone: Transcript?
            do {
                let observer = story.observer()
                story.player.addObserver(observer)
                story.player.set(video: Video(origin.uri("/s.m3u8")), play: true)
                try await story.wait { observer.all.contains("ready") }
                gone = observer
            }
            (player, session) = (story.player, story.player.session)
            let count = story.stamps.count
            try await story.wait { story.stamps.count > count + 5 }
            #expect(gone == nil && session != nil)
            await story.finish()
        }
        #expect(player == nil && session == nil)
    }
}
