import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastPlayback

extension RealTimePlayback {
    /// Malicious servers and invalid media, through which one player goes.
    @Suite("Broken media and hostile servers", .enabled(if: Program.hasFFmpeg))
    struct HostileServerScenario {
        private let folder: TemporaryFolder
        private let film = StampedVideo(seconds: 2)

        init() throws {
            folder = try TemporaryFolder()
            let inputs = try film.inputs(in: folder)
            let coding = "-c:v libx264 -preset ultrafast -bf 2 -g 25 -c:a aac -shortest"
            try Program.runFFmpeg("\(inputs) \(coding) -movflags +faststart film.mp4", in: folder.path)
            _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
            // These are a file with an unknown codec, and one without audio and video.
            var unknown = try folder.read("film.mp4")
            for (name, other) in [("avc1", "zzz1"), ("mp4a", "zzz2"), ("esds", "zzz3"), ("avcC", "zzz4")] {
                while let place = unknown.firstRange(of: Array(name.utf8)) {
                    unknown.replaceSubrange(place, with: Array(other.utf8))
                }
            }
            try folder.write(unknown, to: "unknown.mp4")
            try folder.write("1\n00:00:00,000 --> 00:00:01,000\nText\n", to: "text.srt")
            try Program.runFFmpeg("-i text.srt -c:s mov_text text.mp4", in: folder.path)
            try folder.write(Array(try folder.read("film.mp4").prefix(3_000)), to: "short.mp4")
        }

        /// The result of a server's behavior.
        private enum Outcome { case unreachable, refused, brokenPlaylist, notPlayable, brokeOff, anyFailure }

        private static let cases: [(String, Outcome)] = [
            ("endless.m3u8", .brokenPlaylist), ("headers.m3u8", .unreachable), ("drip.m3u8", .unreachable),
            ("dripbody.m3u8", .unreachable), ("circle.m3u8", .unreachable), ("giant.m3u8", .unreachable),
            ("empty.m3u8", .brokenPlaylist), ("cut.m3u8", .anyFailure), ("nothing.m3u8", .notPlayable),
            ("headers.mp4", .unreachable), ("drip.mp4", .unreachable), ("circle.mp4", .anyFailure),
            ("page.mp4", .notPlayable), ("endless.mp4", .notPlayable), ("unknown.mp4", .notPlayable),
            ("text.mp4", .notPlayable), ("short.mp4", .anyFailure), ("giant.mp4", .anyFailure),
            ("refused.mp4", .refused),
        ]

        private func origin() throws -> TestOrigin {
            let folder = folder
            let line = Array("#EXT-X-COMMENT\n".utf8)
            return try TestOrigin { request in
                let name = request.path.dropFirst()
                switch name {
                case "endless.m3u8":
                    return .init(body: Array(repeating: UInt8(ascii: "#"), count: 1 << 20), isEndless: true)
                case "endless.mp4": return .init(body: Array(repeating: 7, count: 1 << 20), isEndless: true)
                case "headers.m3u8", "headers.mp4": return .init(head: .endless)
                case "drip.m3u8", "drip.mp4": return .init(head: .dripping)
                case "dripbody.m3u8":
                    return .init(body: Array(repeating: line, count: 1_000).flatMap(\.self), bytesPerSecond: 20)
                case "circle.m3u8", "circle.mp4": return .redirect("/\(name)")
                case "giant.m3u8", "giant.mp4":
                    return .init(claimedLength: 1 << 50, body: Array("#EXTM3U\n\n".utf8), cutAfter: 8)
                case "empty.m3u8": return .text("")
                case "page.mp4": return .text("<html>no film here</html>")
                case "refused.mp4": return .status(403)
                case "cut.m3u8": return .text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ncut.ts\n#EXT-X-ENDLIST\n")
                case "cut.ts": return (try? folder.read("s0.ts")).map { .init(body: $0, cutAfter: 400) }
                case "nothing.m3u8":
                    return .text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\npage.mp4\n#EXT-X-ENDLIST\n")
                default: return (try? folder.read(String(name))).map { .init(body: $0) }
                }
            }
        }

        @Test(
            "each case ends with its error, and the player plays the next item", .timeLimit(.minutes(5)),
            arguments: [false, true])
        func errors(waits: Bool) async throws {
            let origin = try origin()
            defer { origin.stop() }
            // A busy machine must not make the servers unreachable that fail for another reason.
            let scenario = PlaybackScenario(timeout: .seconds(waits ? 1 : 30))
            let cases = Self.cases.filter { [Outcome.unreachable, .anyFailure].contains($0.1) == waits }
            let player = scenario.player
            let memory = try ProcessMetrics.now()
            for (index, (name, outcome)) in cases.enumerated() {
                let errors = Mutex<[PlaybackError]>([])
                let events = player.events()
                let following = Task {
                    for await event in events {
                        if case .error(let error) = event.kind { errors.withLock { $0.append(error) } }
                    }
                }
                let count = scenario.transcript.all.count
                player.set(video: Video(origin.uri("/\(name)")), play: true)
                try await scenario.wait {
                    player.state == .idle && scenario.hasReported("+ fail", after: count)
                        || scenario.hasReported("+ end", after: count)
                }
                await player.settled()
                if player.state != .idle {
                    Issue.record("\(name) is played")
                    continue
                }
                while errors.withLock({ $0.isEmpty }), !Task.isCancelled { await TestOrigin.pause() }
                following.cancel()
                let found = errors.withLock { $0 }
                #expect(found.count == 1 && found.first.map { Self.outcome($0, outcome) } == true, "\(name): \(found)")
                // After every third case, and at the end, another item is played.
                guard index % 3 == 2 || index == cases.count - 1 else { continue }
                let before = scenario.transcript.all.count
                player.set(video: Video(origin.uri(index % 2 == 0 ? "/s.m3u8" : "/film.mp4")), play: true)
                player.speed = 4
                try await scenario.wait(for: "+ end", after: before)
                await player.settled()
                #expect(scenario.stamp == film.count - 1)
            }
            player.speed = 1
            await scenario.finish()
            let growth = try ProcessMetrics.now().memory - memory.memory
            #expect(growth < 300 << 20, "\(growth >> 20) MiB more")
        }

        private static func outcome(_ error: PlaybackError, _ outcome: Outcome) -> Bool {
            switch (error, outcome) {
            case (.unreachable, .unreachable), (.refused, .refused), (.brokenPlaylist, .brokenPlaylist): true
            case (.notPlayable, .notPlayable), (.brokeOff, .brokeOff): true
            case (.interrupted, .anyFailure), (.noTrack, .anyFailure), (.notSeekable, .anyFailure): false
            case (_, .anyFailure): true
            default: false
            }
        }

        @Test("a film of a server is seeked by ranges, and played without them", .timeLimit(.minutes(5)))
        func ranges() async throws {
            let folder = folder
            let ranges = Mutex<[Int]>([])
            let origin = try TestOrigin { request in
                guard let body = try? folder.read("film.mp4") else { return nil }
                if request.path == "/plain.mp4" { return .init(hasRanges: false, body: body) }
                if let range = request.range { ranges.withLock { $0.append(range.first) } }
                return .init(headers: ["Accept-Ranges": "bytes"], body: body)
            }
            defer { origin.stop() }
            let ranged = ThreadContent(FileContent(origin.uri("/film.mp4")))
            defer { ranged.close() }
            _ = try await ranged.open()
            #expect(ranged.overview?.seekableRange?.upperBound.seconds.rounded() == 2)
            for counter in [40, 10, 30] {
                let position = film.position(of: counter)
                _ = try await ranged.seek(to: position)
                let items = try await ranged.readItems { item in
                    if case .frame(_, let time, let length) = item {
                        time + (length ?? .zero) > position
                    } else {
                        false
                    }
                }
                #expect(items.stamps.last == counter)
            }
            _ = try await ranged.seek(to: .zero)
            #expect(try await ranged.readItems().stamps == Array(0..<film.count))
            #expect(ranges.withLock { $0.contains { $0 > 0 } }, "the server received requests for parts")

            let plain = ThreadContent(FileContent(origin.uri("/plain.mp4")))
            defer { plain.close() }
            _ = try await plain.open()
            #expect(plain.overview?.seekableRange == nil)
            await #expect(throws: PlaybackError.notSeekable) { _ = try await plain.seek(to: .seconds(1 as Int64)) }
            #expect(try await plain.readItems().stamps == Array(0..<film.count))
        }
    }
}
