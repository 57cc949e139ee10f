import PCastCore
import PCastHLS
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("Fallback to other addresses in HTTP Live Streaming", .enabled(if: Program.hasFFmpeg))
struct HLSAlternativeTests {
    /// Whether an address of the film is missing.
    typealias Missing = @Sendable (_ path: String) -> Bool

    private static func ladder(_ missing: @escaping Missing) throws -> (LadderFilm, TestOrigin) {
        let ladder = try LadderFilm(StampedVideo(seconds: 12, rate: 5), segmentSeconds: 1)
        let origin = try ladder.origin { name, answer in
            if missing(String(name)) { answer = .status(404) }
        }
        return (ladder, origin)
    }

    /// The paths that were requested more than once.
    private static func repeated(_ origin: TestOrigin) -> [String] {
        Dictionary(grouping: origin.requests, by: \.self).filter { $0.value.count > 1 }.keys.sorted()
    }

    @Test(
        "if the playlist or segments of a variant are missing, the other one is played, and each frame is delivered once",
        .timeLimit(.minutes(5)), arguments: ["low", "low0", "low*", "high", "high3", "high*"])
    func variants(_ gone: String) async throws {
        let (ladder, origin) = try Self.ladder { name in
            gone.hasSuffix("*") ? name.hasPrefix(gone.dropLast()) && name.count > gone.count - 1 : name == gone
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems().stamps == Array(0..<ladder.film.count))
        #expect(Self.repeated(origin).isEmpty, "nobody waits for what is gone")
    }

    @Test(
        "if no alternative remains, the failure is reported at once with an address that failed",
        .timeLimit(.minutes(5)),
        arguments: [("low|high", "m3u8"), ("low0|high0", "ts"), ("low.|high.", "m3u8")])
    func noneLeft(_ gone: String, _ ending: String) async throws {
        let names = gone.split(separator: "|").map { $0.filter { $0 != "." } }
        let (_, origin) = try Self.ladder { names.contains($0) }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        let failure = await content.failure()
        let addresses = names.map { origin.uri("/\($0).\(ending)") }
        #expect(addresses.contains { failure == .refused($0, status: 404) }, "\(String(describing: failure))")
        #expect(Self.repeated(origin).isEmpty, "nobody waits for what is gone")
    }

    @Test(
        "a missing segment, key or initialization is final at once on demand", .timeLimit(.minutes(5)),
        arguments: ["/s1.ts", "/key.bin", "/nowhere.mp4"])
    func onlyOne(_ gone: String) async throws {
        let folder = try TemporaryFolder()
        let film = try HLSFilm(StampedVideo(seconds: 3, rate: 5), segmentSeconds: 1, in: folder)
        let more =
            switch gone {
            case "/key.bin": "#EXT-X-KEY:METHOD=AES-128,URI=\"key.bin\"\n"
            case "/nowhere.mp4": "#EXT-X-MAP:URI=\"nowhere.mp4\"\n"
            default: ""
            }
        try folder.write(film.playlist(0..<3, isComplete: true, more: more), to: "main.m3u8")
        let origin = try TestOrigin { request in
            request.path == gone ? nil : (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        #expect(await content.failure() == .refused(origin.uri(gone), status: 404))
        #expect(origin.requests.filter { $0 == gone }.count == 1, "it is not requested again")
    }

    @Test("one working key of several is enough", .timeLimit(.minutes(5)))
    func keys() async throws {
        let folder = try TemporaryFolder()
        let key: [UInt8] = (0..<16).map { $0 * 3 + 1 }
        try folder.write(key, to: "key.bin")
        try folder.write("key.bin\n\(folder.path)/key.bin\n", to: "key.info")
        let film = StampedVideo(seconds: 2, rate: 5)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder, options: "-hls_key_info_file key.info")
        let text = String(decoding: try folder.read("s.m3u8"), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("#EXT-X-KEY") })
        let both =
            line.replacing("key.bin", with: "gone.bin") + "\n"
            + line.replacing(
                "METHOD=AES-128", with: "METHOD=AES-128,KEYFORMAT=\"identity\"")
        try folder.write(text.replacing(line, with: both), to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        // The second key replaces the first one or is listed with it. Both are played.
        #expect(try await content.readItems().stamps == Array(0..<film.count))
    }

    @Test(
        "a missing audio rendition is played from another group, or replaced by another one",
        .timeLimit(.minutes(5)), arguments: [true, false])
    func audioFrames(hasOtherGroup: Bool) async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 4, rate: 5)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder, name: "v")
        for (name, tone) in [("a", 600), ("b", 900)] {
            _ = try HLSFilm(film, segmentSeconds: 1, in: folder, name: name, tone: tone, options: "-vn")
        }
        let other = hasOtherGroup ? ("y", "b") : ("x", "b")
        let language = hasOtherGroup ? ("One", "en") : ("Two", "de")
        try folder.write(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="x",NAME="One",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="gone.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="\(other.0)",NAME="\(language.0)",LANGUAGE="\(language.1)",URI="b.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=200000,AUDIO="x"
            v.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=900000,AUDIO="\(other.0)"
            v.m3u8?better

            """, to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count))
        #expect(abs(try #require(items.tone) - 900) < 20)
    }

    /// A packet of MPEG-TS without content (ISO/IEC 13818-1, section 2.4.3.3).
    private static let nullPacket = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)

    /// Returns a live presentation of both variants, whose window the test moves.
    ///
    /// Null packets are appended to each segment, `padding` in number, so that the time that a busy machine takes for a
    /// request hardly changes the measured throughput.
    static func live(
        _ window: LiveWindow, peak: Int = 690_000, padding: Int = 0, _ missing: @escaping Missing
    ) throws -> (LadderFilm, TestOrigin) {
        let ladder = try LadderFilm(StampedVideo(seconds: 16, rate: 5), segmentSeconds: 1)
        let origin = try ladder.origin { name, answer in
            if missing(String(name)) { return answer = .status(404) }
            if name == "main" {
                // The declared bit rate is higher than the initial assumption.
                let text = String(decoding: answer.body, as: UTF8.self)
                answer = .text(text.replacing("BANDWIDTH=690000", with: "BANDWIDTH=\(peak)"))
            }
            guard name == "low" || name == "high" else {
                if name != "main" { for _ in 0..<padding { answer.body += Self.nullPacket } }
                return
            }
            let state = window.current
            var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(state.numbers.lowerBound)\n"
            for number in state.numbers { text += "#EXTINF:1,\n\(name)\(number).ts\n" }
            answer = .text(text + (state.isOver ? "#EXT-X-ENDLIST\n" : ""))
        }
        return (ladder, origin)
    }

    /// Reads the contents of the window, and moves the window by a segment each time.
    static func readOn(
        _ content: ThreadContent, _ window: LiveWindow, to last: Int
    ) async throws -> [Int] {
        var stamps: [Int] = []
        while window.current.numbers.upperBound < last || !window.current.isOver {
            let end = window.current.numbers.upperBound * 5
            while stamps.last ?? 0 < end - 6 {
                stamps.append(try #require(try await content.readStamp()).counter)
            }
            window.change { state in
                if state.numbers.upperBound < last {
                    state.numbers = (state.numbers.lowerBound + 1)..<(state.numbers.upperBound + 1)
                } else {
                    state.isOver = true
                }
            }
        }
        return stamps + (try await content.readItems().stamps)
    }

    @Test("a live presentation goes up to the better variant, although little of it can wait to be played")
    func liveGoesUp() async throws {
        let window = LiveWindow(0..<5)
        // The origin appends a segment when the last one is requested. The test reads nothing meanwhile, so as much media
        // is buffered as there is.
        let (ending, end) = AsyncStream<Never>.makeStream()
        let (ladder, origin) = try Self.live(window, peak: 750_000, padding: 5_000) { name in
            window.change { state in
                guard name.hasSuffix("\(state.numbers.upperBound - 1)") else { return }
                if state.numbers.upperBound < 16 {
                    state.numbers = (state.numbers.lowerBound + 1)..<(state.numbers.upperBound + 1)
                } else {
                    state.isOver = true
                    end.finish()
                }
            }
            return false
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let first = try #require(try await content.readStamp()).counter
        for await _ in ending {}
        let stamps = try await [first] + content.readItems().stamps
        #expect(stamps == Array(first..<ladder.film.count))
        // On a machine that loads too slowly for a while, the lower variant may be selected again.
        #expect(ladder.asked("low", of: origin).first == 2 && !ladder.asked("high", of: origin).isEmpty)
    }

    @Test("a live variant whose playlist is missing is soon replaced by the other one")
    func liveTrouble() async throws {
        let window = LiveWindow(0..<5)
        let isGone = Mutex(false)
        let (ladder, origin) = try Self.live(window) { name in name == "high" && isGone.withLock { $0 } }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        var stamps = [try #require(try await content.readStamp()).counter]
        isGone.withLock { $0 = true }
        let count = origin.requests.count
        stamps += try await Self.readOn(content, window, to: 16)
        // The playlist is requested twice, and once more if that was in progress. Without an alternative it is
        // requested for half a minute.
        let asked = origin.requests.dropFirst(count).prefix { $0 != "/low.m3u8" }
        #expect(asked.count { $0 == "/high.m3u8" } <= 3)
        #expect(stamps == Array(stamps[0]..<ladder.film.count))
        #expect(ladder.asked("high", of: origin).first == 2 && ladder.asked("low", of: origin).contains(15))
    }

    @Test("a failed address is preferred again after a while, and sooner without an alternative")
    func failedAddresses() {
        var failed = FailedAddresses()
        func second(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }
        failed.add(["a"], isFinal: false, at: second(0))
        #expect(failed.isAvoided("a", at: second(14)) && failed.isUnrecoverable("a", at: second(14)))
        #expect(!failed.isAvoided("a", at: second(15)) && !failed.isUnrecoverable("a", at: second(15)))
        #expect(!failed.isAvoided("b", at: second(0)) && !failed.isUnrecoverable("b", at: second(0)))
        // Two reports count as one failure.
        failed.add(["a"], isFinal: false, at: second(20))
        failed.add(["a"], isFinal: false, at: second(21))
        #expect(failed.isAvoided("a", at: second(49)) && !failed.isAvoided("a", at: second(50)))
        // A segment of another address arrived.
        failed.succeed("b")
        #expect(failed.isAvoided("a", at: second(49)) && !failed.isUnrecoverable("a", at: second(49)))
        for time in stride(from: Int64(50), to: 2_000, by: 200) { failed.add(["a"], isFinal: false, at: second(time)) }
        #expect(failed.isAvoided("a", at: second(1_850 + 119)) && !failed.isAvoided("a", at: second(1_850 + 120)))
        failed.succeed("a")
        #expect(!failed.isAvoided("a", at: second(1_851)))
        failed.add(["c"], isFinal: true, at: second(0))
        failed.succeed("b")
        #expect(failed.isAvoided("c", at: second(100_000)) && failed.isUnrecoverable("c", at: second(100_000)))
    }
}
