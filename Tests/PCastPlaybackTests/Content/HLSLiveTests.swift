import PCastCore
import PCastHLS
import PCastWeb
import Testing

@testable import PCastPlayback

@Suite("Live HTTP Live Streaming", .enabled(if: Program.hasFFmpeg))
struct HLSLiveTests {
    @Test("a window slides: dates stay with their frames, seeks back work, and older media are gone")
    func window() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 24)
        let hls = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let window = LiveWindow(0..<12)
        let origin = try TestOrigin { request in
            guard request.path == "/live.m3u8" else {
                return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
            }
            let state = window.current
            return .text(hls.playlist(state.numbers, isComplete: state.isOver))
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        // The distance is three target durations from the edge (RFC 8216, section 6.3.3).
        #expect(try await content.open() == .seconds(9 as Int64))
        let overview = try #require(content.overview)
        #expect(overview.kind == .live && overview.duration == nil)
        #expect(overview.seekableRange == .zero...(.seconds(9 as Int64)))
        #expect(overview.liveEdge == .seconds(3 as Int64))
        func expectDates() async throws {
            let stamp = try #require(try await content.readStamp())
            var anchors = TimecodeAnchors()
            for anchor in try #require(content.overview).anchors { anchors.add(anchor) }
            let wallTime = try #require(anchors.wallTime(at: stamp.position))
            let made = StampedVideo.captureTime + film.position(of: stamp.counter)
            #expect((wallTime - made).magnitude <= .milliseconds(40))
        }
        #expect(try await content.readStamp()?.counter == 9 * film.rate)
        try await expectDates()
        // A seek back by eight seconds is followed by everything that arrives meanwhile.
        #expect(try await content.seek(to: .seconds(1 as Int64)) == .seconds(1 as Int64))
        #expect(try await content.readStamp()?.counter == film.rate)
        try await expectDates()
        window.change { $0.numbers = 8..<20 }
        _ = try await content.readItems { item in
            if case .overview(let overview) = item {
                overview.seekableRange?.lowerBound == .seconds(8 as Int64)
            } else {
                false
            }
        }
        // Positions keep their meaning.
        #expect(content.overview?.seekableRange == .seconds(8 as Int64)...(.seconds(17 as Int64)))
        #expect(try await content.seek(to: .zero) == .seconds(8 as Int64))
        #expect(try await content.readStamp()?.counter == 8 * film.rate)
        try await expectDates()
        // The playlist announces its end, and then playback ends.
        window.change { state in (state.numbers, state.isOver) = (12..<24, true) }
        let rest = try await content.readItems()
        #expect(rest.stamps.last == film.count - 1)
        #expect(content.overview?.kind == .onDemand)
    }

    @Test(
        "an encoder whose clock is not that of the Date of its server is noticed", .timeLimit(.minutes(5)),
        arguments: [(-10, 8.9...10.1), (60, -60.1 ... -55)] as [(Int, ClosedRange<Double>)])
    func encoderClock(_ late: Int, _ expected: ClosedRange<Double>) async throws {
        let folder = try TemporaryFolder()
        let hls = try HLSFilm(StampedVideo(seconds: 12), segmentSeconds: 1, in: folder)
        let end = (StampedVideo.captureTime + .seconds(12 as Int64)).nanosecondsSinceEpoch / 1_000_000_000
        let origin = try TestOrigin { request in
            guard request.path == "/live.m3u8" else {
                return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
            }
            var answer = TestOrigin.Answer.text(hls.playlist(0..<12, isComplete: false))
            answer.headers["Date"] = HTTPDate.text(secondsSinceEpoch: Int(end) + late)
            return answer
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        // The playlist is compared when it is loaded again.
        let deadline = ContinuousClock.now + .seconds(120)
        while content.overview?.encoderClockDifference == nil, ContinuousClock.now < deadline {
            try await ContinuousClock().sleep(for: .milliseconds(10))
        }
        let difference = try #require(content.overview?.encoderClockDifference)
        #expect(expected.contains(difference.milliseconds / 1_000), "\(difference)")
    }

    @Test("parts are played as they are created, at most a second and a half behind the edge")
    func parts() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 12)
        let hls = try HLSFilm(film, segmentSeconds: 2, in: folder)
        let segments = try (0..<6).map { try folder.read("s\($0).ts") }
        let perSegment = 4
        /// Returns ranges of packets of 188 bytes.
        @Sendable func range(_ number: Int, _ part: Int) -> (offset: Int, length: Int) {
            let packets = segments[number].count / 188
            let begin = packets * part / perSegment * 188
            return (begin, packets * (part + 1) / perSegment * 188 - begin)
        }
        let window = LiveWindow(0..<3, parts: 2)
        @Sendable func playlist(_ state: LiveWindow.State) -> String {
            var text = hls.playlist(
                state.numbers,
                more: "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5\n#EXT-X-PART-INF:PART-TARGET=0.5\n"
            )
            let open = state.numbers.upperBound
            guard open < segments.count else { return text + "#EXT-X-ENDLIST\n" }
            text += "#EXT-X-PROGRAM-DATE-TIME:\(Timestamp.text(hls.captureTime(ofSegment: open)))\n"
            for part in 0..<state.parts {
                let (offset, length) = range(open, part)
                text +=
                    "#EXT-X-PART:DURATION=0.5,URI=\"s\(open).ts\",BYTERANGE=\"\(length)@\(offset)\""
                    + (part == 0 ? ",INDEPENDENT=YES\n" : "\n")
            }
            let (offset, length) = range(open, state.parts)
            return text
                + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s\(open).ts\",BYTERANGE-START=\(offset),BYTERANGE-LENGTH=\(length)\n"
        }
        let origin = try TestOrigin { request in
            if request.path == "/live.m3u8" {
                if let number = request.query["_HLS_msn"].flatMap(Int.init) {
                    let part = request.query["_HLS_part"].flatMap(Int.init) ?? 0
                    window.wait { state in
                        state.numbers.upperBound > number
                            || state.numbers.upperBound == number && state.parts > part
                    }
                }
                return .text(playlist(window.current))
            }
            guard let number = Int(request.path.dropFirst(2).dropLast(3)) else { return nil }
            // A request for a part that does not exist yet is delayed.
            let last = request.range?.last ?? .max
            window.wait { state in
                state.numbers.upperBound > number
                    || state.numbers.upperBound == number
                        && (0..<state.parts).contains { part in
                            let (offset, length) = range(number, part)
                            return last < offset + length
                        }
            }
            return .init(body: segments[number])
        }
        defer {
            window.change { $0.isOver = true }
            origin.stop()
        }
        let content = ThreadContent(origin.content("/live.m3u8"))
        defer { content.close() }
        // There are seven seconds of media, and the hold-back is a second and a half.
        #expect(try await content.open() == .milliseconds(5_500))
        #expect(content.overview?.liveEdge == .milliseconds(1_500))
        var next = 5 * film.rate + film.rate / 2
        let first = try #require(try await content.readStamp())
        #expect(abs(first.counter - next) <= 1)
        next = first.counter + 1
        // Each new part can be read at once, except for what its last packets leave open.
        for number in 3..<6 {
            for parts in (number == 3 ? 3 : 1)...perSegment {
                window.change { state in
                    if parts == perSegment {
                        (state.numbers, state.parts) = (0..<(number + 1), 0)
                    } else {
                        state.parts = parts
                    }
                }
                let edge = number * 2 * film.rate + parts * film.rate / 2
                // This is a second behind the newest media, which is closer than the hold-back.
                while next < edge - film.rate {
                    let stamp = try #require(try await content.readStamp())
                    #expect(stamp.counter == next)
                    next = stamp.counter + 1
                }
            }
        }
        #expect(try await content.readItems().stamps == Array(next..<film.count))
    }
}
