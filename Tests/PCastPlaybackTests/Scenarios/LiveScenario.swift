import PCastCore
import PCastIO
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// A live program whose window allows seeks back.
    @Suite("A live program with a window", .enabled(if: Program.hasFFmpeg))
    struct LiveScenario {
        private static let window = 9
        private let folder: TemporaryFolder
        private let film = StampedVideo(seconds: 40, rate: 10)
        private let hls: HLSFilm

        init() throws {
            folder = try TemporaryFolder()
            hls = try HLSFilm(film, segmentSeconds: 1, in: folder)
        }

        /// Starts a server whose window slides by a segment each second.
        private func origin() throws -> TestOrigin {
            let (folder, hls) = (folder, hls)
            let began = MonotonicClock.now()
            return try TestOrigin { request in
                guard request.path == "/live.m3u8" else {
                    return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
                }
                let first = Int((MonotonicClock.now() - began).seconds)
                let end = min(first + Self.window, hls.count)
                return .text(hls.playlist(min(first, end)..<end, isComplete: end == hls.count))
            }
        }

        @Test(
            "timecodes are those of the shown frame, seeks work, and the window moves the position",
            .timeLimit(.minutes(5)))
        func window() async throws {
            let origin = try origin()
            defer { origin.stop() }
            let scenario = PlaybackScenario(rate: film.rate)
            let player = scenario.player
            player.set(video: Video(origin.uri("/live.m3u8")), play: true)
            try await scenario.wait(for: "+ ready")
            #expect(player.duration == .infinity && scenario.hasReported("session's duration inf"))
            let joined = scenario.stamp
            #expect(joined >= 6 * film.rate, "three target durations from the edge (RFC 8216, section 6.3.3)")
            // Positions count from the beginning of the initial window.
            let first = joined - Int((player.position * Double(film.rate)).rounded())
            try await scenario.wait { scenario.stamp >= joined + 12 }

            // The seek goes back as far as possible.
            let range = try #require(player.playhead?.seekableRange)
            #expect(range.upperBound - range.lowerBound == .seconds(6 as Int64))
            let back = Duration.seconds(player.position - 3)
            let landed = try await player.seek(to: back)
            let margin = Duration.milliseconds(100)
            #expect(landed >= back - margin)
            if landed > back + margin {
                // The window of a busy machine has moved beyond that position.
                let start = try #require(player.playhead?.seekableRange?.lowerBound)
                #expect(landed <= start + .seconds(1) + margin)
            } else {
                #expect(scenario.stamp < joined + 12)
            }
            try await scenario.pause(first: first)
            // A seek by wall-clock time works, too.
            let moment = StampedVideo.captureTime + film.position(of: scenario.stamp + 5)
            _ = try await player.seek(to: moment)
            #expect(player.playhead?.timecode.map { ($0 - moment).magnitude <= .milliseconds(100) } == true)
            let now = StampedVideo.captureTime + film.position(of: scenario.stamp)
            #expect((now - moment).magnitude <= .milliseconds(100), "the frame of that time is shown")

            let seeking = MonotonicClock.now()
            let edge = try await player.seekToLiveEdge()
            let latest = try #require(player.playhead?.seekableRange?.upperBound)
            // The edge moves meanwhile.
            #expect(
                TimeSpan(latest - edge).magnitude <= TimeSpan.seconds(2 as Int64) + (MonotonicClock.now() - seeking))
            #expect(Double(scenario.stamp - first) >= (edge.seconds - 0.1) * Double(film.rate))

            // The pause is longer than the window. The frame remains, but playback cannot resume from it.
            try await scenario.pause(first: first)
            let stamp = scenario.stamp
            try await scenario.wait { player.playhead?.isEvicted == true }
            #expect(scenario.stamp == stamp)
            let count = scenario.transcript.all.count
            player.play()
            try await scenario.wait(for: "+ likelyToKeepUp", after: count)
            await player.settled()
            let playhead = try #require(player.playhead)
            let window = try #require(playhead.seekableRange)
            #expect(scenario.stamp > stamp + film.rate && !playhead.isEvicted)
            let position = playhead.position.seconds
            #expect(position >= window.lowerBound.seconds - 0.5 && position <= window.upperBound.seconds + 0.5)
            // A player that is moved into the window has not stalled.
            let after = scenario.transcript.all.dropFirst(count).filter { $0.hasPrefix("+") }
            #expect(after.prefix(4) == ["+ playRequest", "+ play", "+ bufferEmpty", "+ likelyToKeepUp"])
            let gone = scenario.stamp
            try await scenario.wait { scenario.stamp >= gone + 5 }
            expectTimecodes(scenario, first)
            // The window is reported as it slides.
            #expect(scenario.received.count { $0.hasPrefix("ranges") } >= 4)
            await scenario.finish()
        }

        /// Expects that the timecode of each frame was its capture time within one frame, and that the ends of the window
        /// equal the ends of the range.
        private func expectTimecodes(_ scenario: PlaybackScenario, _ first: Int) {
            let origin = StampedVideo.captureTime + film.position(of: first)
            let frame = TimeSpan.milliseconds(Int64(1_000 / film.rate))
            var apart: [TimeSpan] = []
            for sight in scenario.sights {
                guard let playhead = sight.playhead, let timecode = playhead.timecode else { continue }
                apart.append((timecode - (StampedVideo.captureTime + film.position(of: sight.stamp))).magnitude)
                guard let range = playhead.seekableRange, let times = playhead.timecodeRange else { continue }
                #expect((times.lowerBound - origin - TimeSpan(range.lowerBound)).magnitude <= frame)
                #expect((times.upperBound - origin - TimeSpan(range.upperBound)).magnitude <= frame)
            }
            #expect(apart.count >= 20 && apart.count { $0 > frame + .milliseconds(1) } * 10 <= apart.count, "\(apart)")
        }
    }
}
