import PCastCore
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// Timecodes of encoders in the stream are reported when their frame is shown, and state the time.
    @Suite("Timed metadata is reported with its frames", .enabled(if: Program.hasFFmpeg))
    struct TimedMetadataScenario {
        /// Collects a player's metadata events since the last call, up to an event that is made for it.
        private struct Listener {
            let player: Player
            var events: AsyncStream<PlayerEvent>.Iterator

            init(_ player: Player) { (self.player, events) = (player, player.events().makeAsyncIterator()) }

            mutating func take() async -> [PlayerEvent] {
                await player.settled()
                player.muted.toggle()
                var received: [PlayerEvent] = []
                while let event = await events.next() {
                    if case .mutedChanged = event.kind { break }
                    if case .metadata = event.kind { received.append(event) }
                }
                return received
            }
        }

        @Test(
            "each timed ID3 tag is reported when playback passes it, and again at the next pass",
            .timeLimit(.minutes(5)), arguments: ["s.m3u8", "film.ts"])
        func tags(_ name: String) async throws {
            let folder = try TemporaryFolder()
            let tagged = TaggedFilm(StampedVideo(seconds: 6), at: (0..<11).map { 0.1 + Double($0) / 2 }, in: folder)
            if name == "film.ts" { try tagged.makeFile() } else { try tagged.makeSegments(ofSeconds: 2) }
            let origin = try TestOrigin(serving: folder)
            defer { origin.stop() }
            let scenario = PlaybackScenario()
            let player = scenario.player
            var listener = Listener(player)
            player.set(video: Video(origin.uri("/\(name)")), play: true)
            try await scenario.wait { scenario.stamp >= 40 }
            player.pause()
            _ = try await player.seek(to: 4.5)
            let stamp = try #require(scenario.stamps.last { $0 < 110 })
            let passed = await listener.take().values
            #expect(tagged.values.starts(with: passed))
            // No tag is reported before its frame, and each one before the next frame is shown.
            let expected = tagged.values(before: Double(stamp - 1) / 25)
            #expect((expected.count...(expected.count + 1)).contains(passed.count), "\(passed.count) at \(stamp)")
            // While paused no tag is reported, although it has been read.
            _ = try await player.seek(to: 2.4)
            #expect(await listener.take().isEmpty)
            player.play()
            try await scenario.wait(for: "+ end")
            let rest = await listener.take()
            #expect(rest.values == tagged.values.filter { !tagged.values(before: 2.4).contains($0) })
            #expect(rest.allSatisfy { $0.epoch == player.playhead?.epoch })

            // The frames are the reference for the reported time.
            let frame = TimeSpan.milliseconds(41)
            let apart = scenario.sights.compactMap { sight in
                sight.playhead?.timecode.map {
                    ($0 - (StampedVideo.captureTime + tagged.film.position(of: sight.stamp))).magnitude
                }
            }
            #expect(apart.count >= 10 && apart.count { $0 > frame } * 10 <= apart.count, "\(apart.sorted().suffix(20))")
            await scenario.finish()
        }
    }
}

extension [PlayerEvent] {
    fileprivate var values: [String] {
        compactMap { if case .metadata(let metadata) = $0.kind { metadata.value } else { nil } }
    }
}

extension TaggedFilm {
    fileprivate func values(before seconds: Double) -> [String] {
        zip(tags, values).filter { $0.0.position < TimeSpan(seconds: seconds) }.map(\.1)
    }
}
