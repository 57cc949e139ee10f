import PCastCore
import PCastHLS
import Testing

@testable import PCastPlayback

@Suite("Positions of segments according to their media", .enabled(if: Program.hasFFmpeg))
struct HLSPlacementTests {
    /// Returns a film in segments of one second whose playlist states other durations.
    private static func film(
        seconds: Int, durations: (Int) -> String, target: Int = 5, more: (Int) -> String = { _ in "" }
    ) throws -> (StampedVideo, TestOrigin) {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: seconds, rate: 10)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:\(target)\n"
        for number in 0..<seconds { text += more(number) + "#EXTINF:\(durations(number)),\ns\(number).ts\n" }
        try folder.write(text + "#EXT-X-ENDLIST\n", to: "main.m3u8")
        return (film, try TestOrigin(serving: folder))
    }

    /// Returns the longest and the shortest step from frame to frame.
    private static func steps(_ items: [ContentItem]) -> (least: TimeSpan, most: TimeSpan) {
        let times = items.frameTimes
        let steps = zip(times, times.dropFirst()).map { $1 - $0 }
        return (steps.min() ?? .zero, steps.max() ?? .zero)
    }

    @Test(
        "rounded or missing durations have no effect, and frames follow their timestamps",
        .timeLimit(.minutes(5)), arguments: ["1", "2", "5", "0", "0.001", "0.5", "1.4"])
    func durations(_ said: String) async throws {
        let (film, origin) = try Self.film(seconds: 40, durations: { _ in said })
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count))
        let steps = Self.steps(items)
        #expect(steps.least > .milliseconds(90) && steps.most < .milliseconds(110), "\(steps)")
        // The duration of what was read is known.
        let duration = try #require(content.overview?.duration)
        #expect((duration - .seconds(40 as Int64)).magnitude < .seconds(6 as Int64), "\(duration)")
        // A position leads to the frame that was there.
        for counter in [305, 20, 180] {
            _ = try await content.seek(to: film.position(of: counter))
            #expect(try await content.readStamp()?.counter == counter)
        }
    }

    @Test(
        "an unread position is found although the playlist is wrong by half", .timeLimit(.minutes(5)),
        arguments: ["2", "0.6"])
    func reachedPosition(_ said: String) async throws {
        let (film, origin) = try Self.film(seconds: 40, durations: { _ in said })
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        _ = try await content.readStamp()
        for counter in [150, 60] {
            _ = try await content.seek(to: film.position(of: counter))
            let stamp = try #require(try await content.readStamp())
            #expect(abs(stamp.counter - counter) <= 5, "\(stamp) for \(counter)")
            #expect((stamp.position - film.position(of: stamp.counter)).magnitude < .milliseconds(150))
        }
    }

    @Test("undeclared jumps of timestamps are closed", .timeLimit(.minutes(5)), arguments: [3, -2, 90])
    func jumps(_ seconds: Int) async throws {
        let folder = try TemporaryFolder()
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"
        // There are two films, of which the second begins at another time.
        for (name, first, start) in [("a", 0, 10), ("b", 40, 14 + seconds)] {
            let film = StampedVideo(seconds: 4, rate: 10, first: first)
            try Program.runFFmpeg(
                "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 0 -g 40 -c:a aac -shortest "
                    + "-muxdelay 0 -muxpreload 0 -output_ts_offset \(start) -f mpegts \(name).ts", in: folder.path)
            text += "#EXTINF:4,\n\(name).ts\n"
        }
        try folder.write(text + "#EXT-X-ENDLIST\n", to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<80))
        let steps = Self.steps(items)
        #expect(steps.least > .milliseconds(50) && steps.most < .milliseconds(250), "\(steps)")
    }

    @Test(
        "a clock that wraps around within a segment continues, for video and audio", .timeLimit(.minutes(5)),
        arguments: [-2.0, -1.04, 0])
    func wrap(_ before: Double) async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 4, rate: 10)
        // The clock has 33 bits at 90 kHz (ISO/IEC 13818-1, section 2.4.3.7).
        let start = Double(1 << 33) / 90_000 + before
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 2 -g 40 -c:a aac -shortest "
                + "-muxdelay 0 -muxpreload 0 -output_ts_offset \(start) -f mpegts a.ts", in: folder.path)
        try folder.write("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n", to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count))
        let steps = Self.steps(items)
        #expect(steps.least > .milliseconds(90) && steps.most < .milliseconds(110), "\(steps)")
        let times = items.compactMap { item -> TimeSpan? in if case .audio(_, let time) = item { time } else { nil } }
        let (first, last) = (try #require(times.first), try #require(times.last))
        #expect(first.magnitude < .milliseconds(200) && (last - .seconds(4 as Int64)).magnitude < .milliseconds(300))
    }

    @Test(
        "a segment is found after any leading data",
        arguments: ["zeros", "picture", "garbled", "text", "tags", "none"])
    func junk(_ kind: String) async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 2, rate: 10)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let junk: [UInt8] =
            switch kind {
            case "zeros": [UInt8](repeating: 0, count: 20)
            case "picture": [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + (0..<700).map { UInt8($0 % 251) }
            case "garbled":
                [0xF3] + [UInt8](repeating: 0xFF, count: 187) + [0xE1] + [UInt8](repeating: 0xFF, count: 187)
            case "text": Array("<!-- no sync byte: G -->".utf8)
            case "tags": TimedTags.tag("x", "one") + TimedTags.tag("y", "two")
            default: []
            }
        for number in 0..<2 {
            let bytes = try folder.read("s\(number).ts")
            try folder.write(junk + bytes, to: "s\(number).ts")
        }
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems().stamps == Array(0..<film.count))
    }

    @Test(
        "packed audio with several tags before it and in between is played completely, and its tags are reported",
        arguments: [0, 1, 2, 3])
    func packed(_ style: Int) async throws {
        let folder = try TemporaryFolder()
        try Program.runFFmpeg("-f lavfi -i sine=f=440:r=48000:d=6 -c:a aac -ac 2 -f adts tone.aac", in: folder.path)
        let bytes = try folder.read("tone.aac")
        var frames: [[UInt8]] = []
        var offset = 0
        while offset + 7 <= bytes.count {
            let size = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5] >> 5)
            frames.append(Array(bytes[offset..<offset + size]))
            offset += size
        }
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"
        let count = 47
        for number in 0..<5 {
            let part = frames[number * count..<(number + 1) * count]
            let time = Int64(900_000 + number * count * 1_024 * 90_000 / 48_000)
            var segment = TimedTags.timestamp(time)
            let title = TimedTags.tag("title", "A song")
            if style == 1 { segment += title }
            if style == 2 { segment += title + title }
            for (index, frame) in part.enumerated() {
                if style == 3, index == 20 { segment += title }
                segment += frame
            }
            try folder.write(segment, to: "\(number).aac")
            text += "#EXTINF:1.0027,\n\(number).aac\n"
        }
        try folder.write(text + "#EXT-X-ENDLIST\n", to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        let audioFrames = items.audioFrames
        // The timestamps of segments are not metadata. Equal tags at the same position are one.
        let before: Int? = style == 0 ? nil : style == 3 ? 20 : 0
        let expected = (0..<5).compactMap { number in
            before.map { Double(number * count + $0) * 1_024 / 48_000 }
        }
        let titles = items.metadata
        #expect(titles.count == expected.count, "\(titles)")
        #expect(titles.allSatisfy { $0.source == .id3 && $0.name == "title" && $0.value == "A song" })
        for (title, time) in zip(titles, expected) {
            #expect(abs(TimeSpan(title.position).seconds - time) < 0.1, "\(title.position)")
        }
        #expect(abs(audioFrames.reduce(0) { $0 + $1.sampleCount } - 5 * count * 1_024) < 5_000)
        for (left, right) in zip(audioFrames, audioFrames.dropFirst()) {
            #expect((right.timestamp.span - left.timestamp.span - left.length).magnitude < .milliseconds(25))
        }
    }
}
