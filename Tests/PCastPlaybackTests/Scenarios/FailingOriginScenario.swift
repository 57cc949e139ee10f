import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// A server that becomes slow, recovers, stops and returns.
    @Suite("Recovery from a failing server", .enabled(if: Program.hasFFmpeg))
    struct FailingOriginScenario {
        /// The impairments of segments from a number on.
        private struct Trouble: Sendable {
            /// The delay of each segment in seconds.
            var slowness = 0
            var slowFrom = 2
            /// The first segment that is not answered.
            var missingFrom = 6
        }

        @Test(
            "playback stalls and recovers without losing a frame, fails without data, and resumes at its position",
            .timeLimit(.minutes(5)))
        func trouble() async throws {
            let folder = try TemporaryFolder()
            let film = StampedVideo(seconds: 8)
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
            let scenario = PlaybackScenario(timeout: .seconds(3))
            let player = scenario.player
            player.set(video: Video(origin.uri("/s.m3u8")), play: true)

            // The server is slower than playback, which may recover and stall again before a busy machine continues here.
            try await scenario.wait {
                scenario.hasReported("+ stalled") && player.state == .playing(buffering: true)
                    && player.playhead?.rate == 0
            }
            trouble.change { $0.slowness = 0 }
            try await scenario.wait {
                scenario.life.last(where: { $0 == "stalled" || $0 == "recovered" }) == "recovered"
            }
            let lines = scenario.transcript.all
            let stalled = try #require(lines.firstIndex(of: "+ stalled"))
            let recovered = try #require(lines.firstIndex(of: "+ recovered"))
            #expect(
                !lines[stalled...recovered].contains { $0.hasPrefix("progress") },
                "the position does not change during a stall")

            // A seek empties the buffer without a stall.
            let count = scenario.transcript.all.count
            _ = try await player.seek(to: 1.0)
            await player.settled()
            #expect(
                scenario.transcript.all.dropFirst(count).filter { $0.hasPrefix("+") } == [
                    "+ bufferEmpty", "+ likelyToKeepUp",
                ])
            // The server stops after all its data was loaded. This is shown before playback fails.
            try await scenario.wait { origin.requests.contains("/s6.ts") }
            origin.stop()
            try await scenario.wait(for: "+ failedToPlayToEndTime")
            await player.settled()
            #expect(player.state == .idle)
            #expect(scenario.stamp == 6 * film.rate - 1, "all received frames were shown")
            // After the stall no frame was lost or shown twice. A busy machine may drop frames.
            let all = scenario.transcript.all
            func position(_ line: String?) -> Double? { line.flatMap { Double($0.dropFirst("progress ".count)) } }
            let last = try #require(position(all[..<stalled].last { $0.hasPrefix("progress") }))
            let next = try #require(position(all[recovered...].first { $0.hasPrefix("progress") }))
            #expect(next <= last + 0.5)
            let seek = try #require(scenario.stamps.lastIndex(of: 25))
            for part in [scenario.sights[..<seek], scenario.sights[seek...]] {
                #expect(scenario.isContinuous(part), "\(part.map(\.stamp))")
            }
            let shown = scenario.stamps.count

            // While the server is gone, resuming fails and may be repeated.
            #expect(scenario.controller.resumeVideo())
            try await scenario.wait(for: "+ resumeFail")
            trouble.change { $0.missingFrom = .max }
            let again = try TestOrigin(port: origin.port, handler)
            defer { again.stop() }
            let before = scenario.transcript.all.count
            #expect(scenario.controller.resumeVideo())
            try await scenario.wait(for: "+ end", after: before)
            await player.settled()
            #expect(
                scenario.withoutStalls(scenario.transcript.all.dropFirst(before).filter { $0.hasPrefix("+") }) == [
                    "+ resumeBegin", "+ bufferEmpty", "+ resumeComplete", "+ likelyToKeepUp", "+ end",
                ])
            let rest = scenario.stamps.dropFirst(shown)
            #expect(rest.first.map { abs($0 - 6 * film.rate) <= 2 } == true && rest.last == film.count - 1)
            await scenario.finish()
        }
    }
}
