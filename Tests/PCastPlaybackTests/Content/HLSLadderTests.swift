import PCastCore
import PCastHLS
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("HTTP Live Streaming over a link of variable bandwidth", .enabled(if: Program.hasFFmpeg))
struct HLSLadderTests {
    @Test("if the bandwidth decreases, a lower variant is played, and each frame is delivered once")
    func ladder() async throws {
        let ladder = try LadderFilm(StampedVideo(seconds: 40, rate: 10), segmentSeconds: 1)
        let isNarrow = Mutex(false)
        // This is half of the higher variant's bit rate.
        let origin = try ladder.origin { _, answer in
            if isNarrow.withLock({ $0 }) { answer.bytesPerSecond = 40_000 }
        }
        defer { origin.stop() }
        let content = ThreadContent(HLSContent(origin.uri("/main.m3u8")))
        defer { content.close() }
        _ = try await content.open()
        var stamps = try await content.readItems(to: .seconds(2 as Int64)).stamps
        // A busy machine measures less bandwidth for a while.
        for second in 3...20 where ladder.asked("high", of: origin).isEmpty {
            stamps += try await content.readItems(to: .seconds(Int64(second))).stamps
        }
        #expect(!ladder.asked("high", of: origin).isEmpty)
        isNarrow.withLock { $0 = true }
        let before = origin.requests.count
        stamps += try await content.readItems().stamps
        #expect(stamps == Array(0..<ladder.film.count))
        #expect(!ladder.asked("low", of: origin, after: before).isEmpty)
    }

    @Test(
        "a segment that arrives too slowly is replaced by that of a lower variant before the buffer is empty",
        .timeLimit(.minutes(5)))
    func abandoning() async throws {
        let ladder = try LadderFilm(StampedVideo(seconds: 12, rate: 10), segmentSeconds: 4)
        // The second segment of the higher variant would take a minute.
        let origin = try ladder.origin { name, answer in
            if name == "high1" { answer.bytesPerSecond = answer.body.count / 60 }
        }
        defer { origin.stop() }
        let content = ThreadContent(HLSContent(origin.uri("/main.m3u8")))
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems(to: .milliseconds(3_500)).stamps.count == 36)
        while !ladder.asked("low", of: origin).contains(1), !Task.isCancelled { await TestOrigin.pause() }
        #expect(try await content.readItems().stamps.last == ladder.film.count - 1)
        #expect(ladder.asked("high", of: origin).contains(1))
    }

    @Test(
        "a segment that is being played continues in a lower variant if its rest does not arrive",
        .timeLimit(.minutes(5)), arguments: [("high0", 0.0), ("high1", 0.5), ("high1", 0.02)], [false, true])
    func leaving(_ slow: (name: String, share: Double), fragmented: Bool) async throws {
        let ladder = try LadderFilm(StampedVideo(seconds: 12, rate: 10), segmentSeconds: 4, fragmented: fragmented)
        // The rest of the segment would take five minutes.
        let origin = try ladder.origin { name, answer in
            guard name == slow.name else { return }
            answer.burst = Int(Double(answer.body.count) * slow.share)
            answer.bytesPerSecond = answer.body.count / 300
        }
        defer { origin.stop() }
        let content = ThreadContent(HLSContent(origin.uri("/main.m3u8")))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<ladder.film.count), "each frame is delivered once")
        let number = try #require(Int(slow.name.dropFirst(4)))
        #expect(ladder.asked("low", of: origin).contains(number))
        // Audio continues without a gap, too.
        let audioFrames = items.audioFrames
        let gaps = zip(audioFrames, audioFrames.dropFirst()).map {
            ($1.timestamp.span - $0.timestamp.span - $0.length).magnitude
        }
        #expect(gaps.allSatisfy { $0 < .milliseconds(5) }, "\(gaps.max() ?? .zero)")
    }

    @Test("if the bandwidth returns, the higher variant is played again", .timeLimit(.minutes(5)))
    func recovery() async throws {
        let film = StampedVideo(seconds: 70, rate: 5)
        let ladder = try LadderFilm(film, segmentSeconds: 1)
        // The link is slow until three segments of the lower variant have arrived.
        let lowCount = Mutex(0)
        let origin = try ladder.origin { name, answer in
            let count = lowCount.withLock { count in
                if name.hasPrefix("low"), name != "low" { count += 1 }
                return count
            }
            if count <= 3 { answer.bytesPerSecond = 50_000 }
        }
        defer { origin.stop() }
        let scenario = PlaybackScenario(rate: film.rate)
        scenario.player.set(video: Video(origin.uri("/main.m3u8")), play: true)
        func asked(_ name: String, after count: Int) -> [Int] { ladder.asked(name, of: origin, after: count) }
        try await scenario.wait { asked("low", after: 0).count >= 3 }
        let count = try #require(origin.requests.firstIndex { $0.hasPrefix("/low") && $0.hasSuffix(".ts") })
        try await scenario.wait { asked("high", after: count).count >= 2 }
        let number = try #require(asked("high", after: count).first)
        // The frame at the target of the seek is displayed.
        scenario.player.pause()
        _ = try await scenario.player.seek(to: Double(number) + 0.1)
        await scenario.player.settled()
        #expect(abs(scenario.stamp - number * film.rate) <= 1, "the frame of the higher variant's segment")
        // Each segment was played in one variant only, and none was omitted.
        let both = Set(asked("low", after: 0)).union(asked("high", after: 0))
        #expect(both.isSuperset(of: 0...number))
        await scenario.finish()
    }

    @Test("interrupted responses are continued, and requests that fail once are repeated")
    func retries() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 6)
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let tries = Mutex<[String: Int]>([:])
        let origin = try TestOrigin { request in
            guard let body = try? folder.read(String(request.path.dropFirst())) else { return nil }
            let count = tries.withLock { tries in
                tries[request.path, default: 0] += 1
                return tries[request.path]!
            }
            switch (request.path, count) {
            case ("/s0.ts", 1): return .init(body: body, cutAfter: body.count / 3)
            case ("/s1.ts", 1), ("/s1.ts", 2): return .status(503)
            case ("/s2.ts", 1): return .redirect("/moved/../s2.ts?again=1")
            default: return .init(body: body)
            }
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems().stamps == Array(0..<film.count))
    }

    @Test("a wait for a silent server can be interrupted without loss")
    func interruption() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 6)
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let window = LiveWindow(0..<3)
        let origin = try TestOrigin { request in
            // The number of parts in the window states whether the server may answer.
            if request.path == "/s1.ts" { window.wait { $0.parts > 0 } }
            return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
        }
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        var items: [ContentItem] = []
        var interruptions = 0
        while true {
            // After the last frame the next call waits, because it does not know that there are no more.
            if items.stamps.count >= 40, interruptions == 0 { content.content.interrupt() }
            do {
                guard let item = try await content.read() else { break }
                items.append(item)
            } catch PlaybackError.interrupted {
                interruptions += 1
                window.change { $0.parts = 1 }
            }
        }
        #expect(interruptions == 1)
        #expect(items.stamps == Array(0..<film.count))
    }

    @Test("harmful or unplayable media fail with their reason")
    func failures() async throws {
        let folder = try TemporaryFolder()
        try folder.write((0..<9_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }, to: "noise.ts")
        func list(_ name: String) -> String {
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + (0..<4).map { "#EXTINF:2,\n\(name)?\($0)\n" }.joined()
                + "#EXT-X-ENDLIST\n"
        }
        let noise = list("noise.ts")
        let origin = try TestOrigin { request in
            switch request.path {
            case "/none.m3u8": .status(404)
            case "/forbidden.m3u8": .status(403)
            case "/page.m3u8": .text("<html>")
            case "/broken.m3u8": .text("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:x,\na.ts\n")
            case "/circle.m3u8": .redirect("/circle2.m3u8")
            case "/circle2.m3u8": .redirect("/circle.m3u8")
            case "/endless.m3u8": .init(body: Array(repeating: UInt8(ascii: "#"), count: 1 << 20), isEndless: true)
            case "/noise.m3u8": .text(noise)
            case "/noise.ts": (try? folder.read("noise.ts")).map { .init(body: $0) }
            case "/codec.m3u8":
                .text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"zzzz.1\"\nnone.m3u8\n")
            case "/variants.m3u8": .text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nforbidden.m3u8\n")
            case "/sealed.m3u8":
                .text(
                    noise.replacing(
                        "#EXTINF:2,\nnoise.ts?0",
                        with: "#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI=\"k\"\n#EXTINF:2,\nnoise.ts?0"))
            default: nil
            }
        }
        defer { origin.stop() }
        func failure(_ name: String) async -> PlaybackError? {
            let content = ThreadContent(origin.content("/\(name).m3u8"))
            defer { content.close() }
            return await content.failure()
        }
        func name(_ name: String) -> String { origin.uri("/\(name).m3u8") }
        #expect(await failure("none") == .refused(name("none"), status: 404))
        #expect(await failure("forbidden") == .refused(name("forbidden"), status: 403))
        // The error names the address that failed.
        #expect(await failure("variants") == .refused(name("forbidden"), status: 403))
        for broken in ["page", "broken", "endless"] {
            guard case .brokenPlaylist(name(broken), _)? = await failure(broken) else {
                Issue.record("\(broken) was not reported as a broken playlist")
                continue
            }
        }
        guard case .unreachable? = await failure("circle") else {
            Issue.record("a cyclic reference was not reported as unreachable")
            return
        }
        for kind in ["noise", "codec", "sealed"] {
            guard case .notPlayable(name(kind), _)? = await failure(kind) else {
                Issue.record("\(kind) is played")
                continue
            }
        }
        guard case .brokenPlaylist? = await ThreadContent(HLSContent("file:///etc/passwd")).failure() else {
            Issue.record("a file that is no playlist was not reported as a broken one")
            return
        }
        guard case .unsupportedAddress? = await ThreadContent(HLSContent("ftp://127.0.0.1/a.m3u8")).failure() else {
            Issue.record("an address of another protocol was not rejected")
            return
        }
    }
}
