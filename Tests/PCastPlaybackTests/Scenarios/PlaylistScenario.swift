import PCastCore
import PCastIO
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// A list of a file, a playlist and an audio playlist.
    @Suite("Lists of items", .enabled(if: Program.hasFFmpeg))
    struct PlaylistScenario {
        private let folder: TemporaryFolder
        private let origin: TestOrigin
        private let film = StampedVideo(seconds: 2)
        private let second = StampedVideo(seconds: 2, first: 1_000)

        init() throws {
            let folder = try TemporaryFolder()
            try Program.runFFmpeg(
                "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 2 -g 25 -c:a aac -shortest "
                    + "-movflags +faststart a.mp4", in: folder.path)
            _ = try HLSFilm(second, segmentSeconds: 1, in: folder, name: "b")
            try Program.runFFmpeg(
                "-f lavfi -i sine=f=440:r=48000:d=1 -c:a aac -f hls -hls_time 1 -hls_list_size 0 "
                    + "-hls_segment_filename c%d.ts c.m3u8", in: folder.path)
            try folder.write("<html>", to: "page.m3u8")
            self.folder = folder
            origin = try TestOrigin(serving: folder)
        }

        private func video(_ name: String) -> Video { Video(origin.uri("/\(name)")) }

        @Test(
            "an advancing list has one session per item, and loads the next item once and in advance",
            .timeLimit(.minutes(5)))
        func advancing() async throws {
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let stalls = try StallWatch()
            defer { stalls.stop() }
            scenario.controller.autoAdvance = true
            scenario.controller.autoPlay = true
            scenario.controller.setVideos([video("a.mp4"), video("b.m3u8"), video("c.m3u8")])
            try await scenario.wait(for: "playlist of 3 completed")
            await scenario.player.settled()
            #expect(
                scenario.received.filter { $0.hasPrefix("media type") } == [
                    "media type 2", "media type 2", "media type 1",
                ])
            let life = ["bufferEmpty", "playRequest", "play", "ready", "likelyToKeepUp", "end"]
            #expect(scenario.withoutStalls(scenario.life) == life + ["terminate"] + life + ["terminate"] + life)
            for name in ["/b.m3u8", "/b0.ts", "/b1.ts", "/c.m3u8", "/c0.ts"] {
                #expect(origin.requests.count { $0 == name } == 1, "\(name)")
            }
            let stamps = scenario.stamps
            #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
            #expect(
                stamps.contains(film.count - 1) && stamps.contains(1_000) && stamps.last == 1_000 + second.count - 1)
            // Between the last frame of an item and the first of the next there is no visible gap. A frame lasts 40 ms.
            let next = try #require(stamps.firstIndex(of: 1_000))
            let (last, first) = (scenario.sights[next - 1].instant, scenario.sights[next].instant)
            let stall = stalls.delay(from: last, to: first)
            #expect(first - last < TimeSpan.milliseconds(400) + stall, "\(first - last), and \(stall) of the machine")
            // The second film's first segment is requested before the first film has ended.
            let request = try #require(origin.arrivals.first { $0.path == "/b0.ts" })
            #expect(request.at < last, "\(request.at - last)")
            await scenario.finish()
        }

        @Test(
            "without automatic advance nothing starts by itself, and an inserted item is next",
            .timeLimit(.minutes(5)))
        func stepping() async throws {
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let controller = scenario.controller
            controller.setVideos([video("a.mp4"), video("b.m3u8")])
            let first = try #require(controller.session)
            try await scenario.wait(for: "+ ready")
            #expect(scenario.stamps == [0])
            controller.play()
            try await scenario.wait(for: "+ end")
            await scenario.player.settled()
            #expect(controller.session === first && scenario.stamp == film.count - 1)
            #expect(!origin.requests.contains { $0.hasPrefix("/b") }, "the next one was not requested")
            #expect(controller.insert(video("c.m3u8"), afterVideoAt: 0))
            #expect(controller.advanceToNext())
            let second = try #require(controller.session)
            #expect(second !== first && second.source?.address == origin.uri("/c.m3u8"))
            try await scenario.wait { second.mediaType == .audio && second.playerState == .paused(buffering: false) }
            #expect(controller.advanceToNext())
            try await scenario.wait { scenario.stamp == 1_000 && controller.player.state == .paused(buffering: false) }
            #expect(!controller.advanceToNext())
            #expect(!scenario.hasReported("playlist of"))
            #expect(Set([first.id, second.id, try #require(controller.session).id]).count == 3)
            await scenario.finish()
        }

        @Test("a broken item fails with its reason, and the next one is played", .timeLimit(.minutes(5)))
        func broken() async throws {
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let controller = scenario.controller
            controller.autoAdvance = true
            controller.autoPlay = true
            controller.setVideos([video("a.mp4"), video("none.m3u8"), video("page.m3u8"), video("b.m3u8")])
            // A broken item is detected in advance, and reported when it is due.
            try await scenario.wait(for: "+ end")
            try await scenario.wait(for: "+ fail")
            await scenario.player.settled()
            #expect(controller.player.state == .idle && scenario.stamp == film.count - 1)
            #expect(scenario.life.suffix(5).prefix(4) == ["terminate", "bufferEmpty", "playRequest", "play"])
            #expect(scenario.life.last.map { $0.contains("loadFailed") && $0.contains("404") } == true)
            controller.advanceToNext()
            try await scenario.wait { scenario.life.count { $0.hasPrefix("fail") } == 2 }
            #expect(controller.session?.mediaType == .audioVideo)
            controller.advanceToNext()
            try await scenario.wait(for: "playlist of 4 completed")
            #expect(scenario.stamp == 1_000 + second.count - 1)
            await scenario.finish()
        }
    }
}
