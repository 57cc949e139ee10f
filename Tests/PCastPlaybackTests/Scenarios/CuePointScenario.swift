import PCastCore
import Testing

@testable import PCastPlayback

/// Cue points during playback and seeks, which a consumer receives.
@Suite("Cue points in playback and seeks", .enabled(if: Program.hasFFmpeg))
struct CuePointScenario {
    @Test("each move reports the cue points that it passes, once and in one event", .timeLimit(.minutes(2)))
    func windows() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 8)
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let scenario = PlaybackScenario()
        let player = scenario.player
        let points = [CuePoint.beforeContent()] + [2.0, 2.0, 5.0].map { CuePoint(at: TimeSpan(seconds: $0)) }
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
        player.speed = 4
        player.play()
        try await scenario.wait(for: "+ end")
        await player.settled()
        let rest = scenario.received.filter { $0.hasPrefix("cue") }.dropFirst(passages.count)
        #expect(rest.count == 3)
        for (line, expected) in zip(rest, ["cue points 2.0 2.0 from", "cue points 5.0 from", "cue points inf from"]) {
            #expect(line.hasPrefix(expected))
        }
        #expect(rest.last?.hasSuffix("to inf") == true)
        // During playback, a cue point is reported with the first frame at or after it.
        let passed = rest.dropLast().compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
        for (place, received) in zip([2.0, 5.0], passed) {
            #expect(received >= place && received < place + 0.5 && scenario.positions.contains(received))
        }
        await scenario.finish()
    }
}
