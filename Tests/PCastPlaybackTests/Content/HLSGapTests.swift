import PCastCore
import PCastHLS
import Synchronization
import Testing

@testable import PCastPlayback

/// A low-latency stream of two films whose parts appear when the test permits it. Between the films the publisher is absent,
/// which the playlist states as gaps. The second film has another size, another initialization section and other timestamps.
private struct InterruptedStream: Sendable {
    /// A part has five frames.
    static let rate = 20
    static let partSeconds = 0.25
    static let partsPerSegment = 4

    let folder: TemporaryFolder
    /// The parts of the first film, of the absence, and of the second film.
    let counts: (first: Int, gap: Int, second: Int)
    /// The media sequence number of the first segment.
    var firstNumber = 100

    /// Creates a stream. The absence begins within a segment if `first` is no multiple of the parts of a segment, and ends
    /// with one.
    init(first: Int, gap: Int, second: Int) throws {
        counts = (first, gap, second)
        folder = try TemporaryFolder()
        for (name, count, stamp, size) in [
            ("a", first, 0, Dimensions(width: 320, height: 180)),
            ("b", second, 1_000, Dimensions(width: 480, height: 270)),
        ] {
            let film = StampedVideo(
                seconds: (count * 5 + Self.rate - 1) / Self.rate, rate: Self.rate, dimensions: size, first: stamp)
            try Program.runFFmpeg(
                "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 0 -g 5 -keyint_min 5 -sc_threshold 0 "
                    + "-c:a aac -shortest -f hls -hls_time 0.25 -hls_list_size 0 -hls_segment_type fmp4 "
                    + "-hls_fmp4_init_filename \(name)-init.mp4 -hls_segment_filename \(name)%d.m4s \(name).m3u8",
                in: folder.path)
        }
    }

    var total: Int { counts.first + counts.gap + counts.second }

    private func isGap(_ part: Int) -> Bool { part >= counts.first && part < counts.first + counts.gap }

    /// Returns the file of a part; nil for a gap.
    private func file(_ part: Int) -> String? {
        if isGap(part) { return nil }
        return part < counts.first ? "a\(part).m4s" : "b\(part - counts.first - counts.gap).m4s"
    }

    /// Returns the playlist with a number of parts, which is complete at the end.
    func playlist(_ count: Int, isComplete: Bool) -> String {
        var text =
            "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:1\n#EXT-X-PART-INF:PART-TARGET=\(Self.partSeconds)\n"
            + "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=\(Self.partSeconds * 3)\n"
            + "#EXT-X-MEDIA-SEQUENCE:\(firstNumber)\n#EXT-X-MAP:URI=\"a-init.mp4\"\n"
        for part in 0..<count {
            if part == counts.first + counts.gap { text += "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"b-init.mp4\"\n" }
            if part % Self.partsPerSegment == 0 {
                let date = StampedVideo.captureTime + TimeSpan(seconds: Double(part) * Self.partSeconds)
                text += "#EXT-X-PROGRAM-DATE-TIME:\(Timestamp.text(date))\n"
            }
            text += "#EXT-X-PART:DURATION=\(Self.partSeconds),URI=\"p\(part).m4s\""
            text += isGap(part) ? ",GAP=YES\n" : ",INDEPENDENT=YES\n"
            guard part % Self.partsPerSegment == Self.partsPerSegment - 1 else { continue }
            let first = part - Self.partsPerSegment + 1
            if isGap(first), isGap(part) { text += "#EXT-X-GAP\n" }
            text += "#EXTINF:1,\ns\(part / Self.partsPerSegment).m4s\n"
        }
        return text
            + (isComplete ? "#EXT-X-ENDLIST\n" : "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p\(count).m4s\"\n")
    }

    /// Returns the bytes of a part; nil for a gap.
    func part(_ part: Int) -> [UInt8]? { file(part).flatMap { try? folder.read($0) } }

    /// Returns the bytes of a segment without its gaps.
    func segment(_ number: Int) -> [UInt8] {
        let first = number * Self.partsPerSegment
        return (first..<first + Self.partsPerSegment).flatMap { part($0) ?? [] }
    }

    /// Serves the stream. The number of parts of `window` is that of the parts that exist. A request for the next one waits.
    func origin(_ window: LiveWindow) throws -> TestOrigin {
        try TestOrigin { request in
            if request.path == "/live.m3u8" { return .text(self.reload(request, window)) }
            guard let number = Int(request.path.dropFirst(2).dropLast(4)) else {
                return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
            }
            if request.path.hasPrefix("/s") { return .init(body: segment(number)) }
            window.wait { $0.parts > number }
            return part(number).map { .init(body: $0) }
        }
    }

    /// Returns the playlist when it contains what a request names.
    func reload(_ request: TestOrigin.Request, _ window: LiveWindow) -> String {
        if let number = request.query["_HLS_msn"].flatMap(Int.init) {
            let part = request.query["_HLS_part"].flatMap(Int.init) ?? Self.partsPerSegment - 1
            window.wait { $0.parts > (number - firstNumber) * Self.partsPerSegment + part }
        }
        let count = window.current.parts
        return playlist(count, isComplete: count >= total)
    }
}

extension TestOrigin {
    /// Waits until a number of further requests of a path has arrived.
    fileprivate func awaitRequests(of path: String, after count: Int) async {
        while requests.count(where: { $0 == path }) <= count, !Task.isCancelled { await Self.pause() }
    }
}

@Suite("Absent media in HTTP Live Streaming", .enabled(if: Program.hasFFmpeg))
struct HLSGapTests {
    /// Makes one part after the other, each when the player has requested the playlist with it.
    private static func produce(_ count: Int, _ window: LiveWindow, _ origin: TestOrigin) async {
        while window.current.parts < count, !Task.isCancelled {
            let reloads = origin.requests.count { $0 == "/live.m3u8" }
            window.change { $0.parts += 1 }
            guard window.current.parts < count else { return }
            await origin.awaitRequests(of: "/live.m3u8", after: reloads)
        }
    }

    @Test(
        "a publisher that was absent for many segments continues with another size at its position",
        .timeLimit(.minutes(5)), arguments: [2, 10, 30])
    func absence(_ gap: Int) async throws {
        // The absence begins in the middle of a segment, and may be as long as ten segments.
        let stream = try InterruptedStream(first: 10, gap: gap, second: 12)
        let window = LiveWindow(0..<0, parts: 10)
        let origin = try stream.origin(window)
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        async let reading = content.readItems()
        await Self.produce(stream.total, window, origin)
        let items = try await reading
        // All frames of the second film are played, and each once.
        let second = items.stamps.filter { $0 >= 1_000 }
        #expect(second == Array(1_000..<1_000 + stream.counts.second * 5))
        let frames = items.compactMap { item -> (Dimensions, TimeSpan)? in
            if case .frame(let frame, let position, _) = item { (frame.dimensions, position) } else { nil }
        }
        let first = try #require(frames.first { $0.0.height == 270 })
        // The playlist states the duration of the absence.
        let expected = TimeSpan(seconds: Double(stream.counts.first + gap) * InterruptedStream.partSeconds)
        #expect((first.1 - expected).magnitude < .milliseconds(60), "\(first.1) for \(expected)")
        // A gap is not requested as a segment.
        let gaps = (0..<stream.total / InterruptedStream.partsPerSegment).filter { number in
            stream.segment(number).isEmpty
        }
        #expect(!gaps.contains { origin.requests.contains("/s\($0).m4s") })
    }

    @Test("a seek into absent media continues with the media after it, which are loaded once", .timeLimit(.minutes(5)))
    func seek() async throws {
        let stream = try InterruptedStream(first: 10, gap: 22, second: 12)
        let window = LiveWindow(0..<0, parts: stream.total - 1)
        let origin = try stream.origin(window)
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let count = origin.requests.count
        // Four and a half seconds lie in the absence.
        _ = try await content.seek(to: .milliseconds(4_500))
        #expect(try await content.readStamp()?.counter == 1_000)
        let media = origin.requests.dropFirst(count).filter { $0.hasSuffix(".m4s") }
        #expect(Set(media).count == media.count, "\(media)")
    }

    @Test(
        "a stream that ends without the rest of a segment ends", .timeLimit(.minutes(5)))
    func end() async throws {
        let stream = try InterruptedStream(first: 10, gap: 2, second: 4)
        let window = LiveWindow(0..<0, parts: 10)
        let origin = try TestOrigin { request in
            guard request.path == "/live.m3u8" else {
                guard request.path.hasPrefix("/p"), let number = Int(request.path.dropFirst(2).dropLast(4)) else {
                    return (try? stream.folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
                }
                window.wait { $0.parts > number }
                return stream.part(number).map { .init(body: $0) }
            }
            if request.query["_HLS_msn"] == nil { return .text(stream.playlist(10, isComplete: false)) }
            // The last playlist has complete segments only: the two parts of the third one are gone.
            window.wait { $0.numbers.upperBound > 0 }
            return .text(stream.playlist(8, isComplete: true))
        }
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        async let reading = content.readItems()
        await origin.awaitRequests(of: "/live.m3u8", after: 1)
        window.change { $0.numbers = 0..<1 }
        #expect(try await reading.stamps.last == 49)
    }

    @Test("a server that begins again with other numbers is followed", .timeLimit(.minutes(5)))
    func restart() async throws {
        var first = try InterruptedStream(first: 10, gap: 2, second: 8)
        first.firstNumber = 1_000
        var other = first
        other.firstNumber = 0
        let (former, later) = (first, other)
        let window = LiveWindow(0..<0, parts: 10)
        let hasRestarted = Mutex(false)
        let origin = try TestOrigin { request in
            switch request.path {
            case "/live.m3u8":
                if let number = request.query["_HLS_msn"].flatMap(Int.init), number >= 1_000 {
                    // The request is held until the server restarts, and the new one does not know the numbers.
                    window.wait { $0.numbers.upperBound > 0 }
                    if hasRestarted.withLock({ $0 }) { return .status(400) }
                }
                guard hasRestarted.withLock({ $0 }) else { return .text(former.playlist(10, isComplete: false)) }
                // The new presentation has other files and later dates.
                let text = later.reload(request, window).replacing("URI=\"p", with: "URI=\"n")
                    .replacing("\ns", with: "\nm").replacing(
                        Timestamp.text(StampedVideo.captureTime).prefix(10), with: "2031-01-01")
                return .text(text)
            default:
                guard let number = Int(request.path.dropFirst(2).dropLast(4)) else {
                    return (try? former.folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
                }
                if request.path.hasPrefix("/s") || request.path.hasPrefix("/m") {
                    return .init(body: former.segment(number))
                }
                if request.path.hasPrefix("/n") { window.wait { $0.parts > number } }
                return former.part(number).map { .init(body: $0) }
            }
        }
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        async let reading = content.readItems()
        await origin.awaitRequests(of: "/live.m3u8", after: 1)
        hasRestarted.withLock { $0 = true }
        window.change { state in (state.numbers, state.parts) = (0..<1, former.total - 3) }
        // The first two requests were those of the former presentation. The fourth waits for a part of the new one.
        await origin.awaitRequests(of: "/live.m3u8", after: 3)
        window.change { $0.parts = former.total }
        // The new presentation is played to its end.
        #expect(try await reading.stamps.last == 1_000 + former.counts.second * 5 - 1)
    }

    @Test(
        "if the addresses of the variants have expired, the multivariant playlist is loaded again, and playback continues",
        .timeLimit(.minutes(5)))
    func expiry() async throws {
        let window = LiveWindow(0..<5)
        let key = Mutex("one")
        let (ladder, inner) = try HLSAlternativeTests.live(window) { _ in false }
        inner.stop()
        let origin = try TestOrigin { request in
            let valid = key.withLock { $0 }
            let name = request.path.split(separator: "/").last.map(String.init) ?? ""
            if name == "main.m3u8" {
                return .text(
                    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=200000,RESOLUTION=160x90\n\(valid)/low.m3u8\n")
            }
            guard request.path.hasPrefix("/\(valid)/") else { return .status(401) }
            guard name == "low.m3u8" else { return ladder.answer(name) }
            let state = window.current
            var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(state.numbers.lowerBound)\n"
            for number in state.numbers { text += "#EXTINF:1,\nlow\(number).ts\n" }
            return .text(text + (state.isOver ? "#EXT-X-ENDLIST\n" : ""))
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        var stamps = [try #require(try await content.readStamp()).counter]
        key.withLock { $0 = "two" }
        window.change { $0.numbers = 1..<6 }
        stamps += try await HLSAlternativeTests.readOn(content, window, to: 16)
        #expect(stamps == Array(stamps[0]..<ladder.film.count))
        #expect(origin.requests.count { $0 == "/main.m3u8" } == 2)
    }
}
