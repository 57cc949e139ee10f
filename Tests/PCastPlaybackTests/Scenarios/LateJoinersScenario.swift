import PCastCore
import Testing

@testable import PCastPlayback

/// A consumer that is added during playback.
@Suite("Late consumers", .enabled(if: Program.hasFFmpeg))
struct LateJoinersScenario {
    @Test("a late consumer receives the current state once, and then only new events", .timeLimit(.minutes(2)))
    func late() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 4)
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let scenario = PlaybackScenario()
        let player = scenario.player
        let address = origin.uri("/s.m3u8")
        player.set(
            video: Video(address, cuePoints: [CuePoint(at: .zero), CuePoint(at: .seconds(3 as Int64))]), play: true)
        try await scenario.wait { scenario.stamp >= 30 }
        let (consumer, observer) = (Transcript(hasProgress: true), Transcript(hasProgress: true))
        let stamp = scenario.stamp
        scenario.controller.addSessionConsumer(consumer)
        player.addObserver(observer)
        scenario.controller.addSessionConsumer(consumer)
        player.addObserver(observer)
        try await scenario.wait(for: "+ end")
        await player.settled()
        let duration = player.duration
        #expect(
            consumer.all.prefix(5) == [
                "session of \(address)", "media type 2", "session's duration \(duration)", "ranges 0.0...\(duration)",
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
        #expect(seen.suffix(2) == ["paused", "finished"] && seen.count > 20)
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
