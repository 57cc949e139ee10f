import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastPlayback

/// Scenario 5 of the playback reference, section 8.
@Suite("A server that gets slow, recovers, dies and comes back", .enabled(if: Program.hasFFmpeg))
struct FailingOriginStory {
    /// What the server does to segments from a number on.
    private struct Trouble: Sendable {
        /// Seconds that each takes.
        var slowness = 0
        var slowFrom = 2
        /// None from here on is answered.
        var missingFrom = 6
    }

    @Test(
        "it stalls and recovers without losing a picture, fails when nothing comes, and is resumed where it was",
        .timeLimit(.minutes(2)))
    func trouble() async throws {
        let folder = try TemporaryFolder()
        let film = StampedFilm(seconds: 8)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let trouble = Exclusive(Trouble(slowness: 2))
        let handler: TestOrigin.Handler = { request in
            guard let body = try? folder.read(String(request.path.dropFirst())) else { return nil }
            guard request.path.hasSuffix(".ts"), let number = Int(request.path.dropFirst(2).dropLast(3)) else {
                return .init(body: body)
            }
            let now = trouble.change { $0 }
            if number >= now.missingFrom { return .init(body: body, cutAfter: 0) }
            let isSlow = number >= now.slowFrom && now.slowness > 0
            return .init(body: body, bytesPerSecond: isSlow ? body.count / now.slowness : nil)
        }
        let origin = try TestOrigin.returning(handler)
        defer { origin.stop() }
        let story = Story(timeout: .seconds(3))
        let player = story.player
        player.set(video: Video(origin.uri("/s.m3u8")), play: true)

        // Slower than it is played.
        try await story.wait(for: "+ stalled")
        #expect(player.state == .playing(buffering: true) && player.playhead?.rate == 0)
        trouble.change { $0.slowness = 0 }
        try await story.wait(for: "+ recovered")
        let lines = story.transcript.all
        let stalled = try #require(lines.firstIndex(of: "+ stalled"))
        let recovered = try #require(lines.firstIndex(of: "+ recovered"))
        #expect(!lines[stalled...recovered].contains { $0.hasPrefix("progress") }, "nothing moves while it stands")

        // A seek empties the buffer, and stalls nothing.
        let count = story.transcript.all.count
        _ = try await player.seek(to: 1.0)
        await player.settled()
        #expect(
            story.transcript.all.dropFirst(count).filter { $0.hasPrefix("+") } == ["+ bufferEmpty", "+ likelyToKeepUp"])
        // The server is gone when all was loaded that it had: that is shown, and then it fails.
        try await story.wait { origin.requests.contains("/s6.ts") }
        origin.stop()
        try await story.wait(for: "+ failedToPlayToEndTime")
        await player.settled()
        #expect(player.state == .idle)
        #expect(story.stamp == 6 * film.rate - 1, "everything that came was shown")
        // Where it stood still nothing was lost and nothing shown twice; a machine that is held up may leave pictures out.
        let seek = try #require(story.stamps.lastIndex(of: 25))
        for part in [story.stamps[..<seek], story.stamps[seek...]] {
            #expect(zip(part, part.dropFirst()).allSatisfy { $0 < $1 && $1 <= $0 + film.rate / 2 }, "\(part)")
        }
        let shown = story.stamps.count

        // While it is gone, resuming fails, and may be tried again.
        #expect(story.controller.resumeVideo())
        try await story.wait(for: "+ resumeFail")
        trouble.change { $0.missingFrom = .max }
        let again = try TestOrigin(port: origin.port, handler)
        defer { again.stop() }
        let before = story.transcript.all.count
        #expect(story.controller.resumeVideo())
        try await story.wait(for: "+ end", after: before)
        await player.settled()
        #expect(
            story.withoutStalls(story.transcript.all.dropFirst(before).filter { $0.hasPrefix("+") }) == [
                "+ resumeBegin", "+ bufferEmpty", "+ resumeComplete", "+ likelyToKeepUp", "+ end",
            ])
        let rest = story.stamps.dropFirst(shown)
        #expect(rest.first.map { abs($0 - 6 * film.rate) <= 2 } == true && rest.last == film.count - 1)
        await story.finish()
    }
}
