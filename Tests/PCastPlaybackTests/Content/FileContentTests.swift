import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("Playback of files with exact seeks", .enabled(if: Program.hasFFmpeg))
struct FileContentTests {
    private static let coding = "-c:v libx264 -preset ultrafast -bf 2 -g 50 -c:a aac -shortest"

    @Test(
        "a seek shows the frame at its position, and each following frame is delivered once",
        arguments: ["film.mp4", "film.mkv", "film.ts"])
    func seeks(_ file: String) throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 8)
        try Program.runFFmpeg("\(try film.inputs(in: folder)) \(Self.coding) \(file)", in: folder.path)
        let content = FileContent("\(folder.path)/\(file)")
        #expect(content.overview == nil)
        #expect(try content.open() == .zero)
        let overview = try #require(content.overview)
        #expect(overview.kind == .onDemand && overview.has(.video) && overview.has(.audio))
        #expect(overview.selected.count == 2)
        let duration = try #require(overview.duration)
        #expect((duration - .seconds(8 as Int64)).magnitude < .milliseconds(200))
        #expect(overview.seekableRange == .zero...duration)

        // Audio may begin slightly before video, because the origin is that of the file.
        let start = try #require(try content.readStamp())
        #expect(start.counter == 0 && start.position < .milliseconds(100))
        var random = SeededGenerator(seed: 7)
        for _ in 0..<24 {
            let counter = Int.random(in: 1..<(film.count - 20), using: &random)
            let position = start.position + film.position(of: counter)
            #expect(try content.seek(to: position) == position)
            let items = try content.readItems { item in
                if case .frame(_, let time, _) = item {
                    time > position + .milliseconds(600)
                } else {
                    false
                }
            }
            #expect(items.stamps == Array(counter..<(counter + items.stamps.count)), "seek to \(counter)")
            #expect(items.stamps.count >= 4)
            for (index, time) in items.frameTimes.enumerated() {
                let expected = start.position + film.position(of: counter + index)
                #expect((time - expected).magnitude <= .milliseconds(1))
            }
            let audio = try #require(items.audioFrames.first)
            #expect(audio.timestamp.span >= position - .milliseconds(1))
            #expect(audio.timestamp.span < position + .milliseconds(100), "seek to \(counter)")
        }
        // At a position beyond the end there is the last frame, followed by the end.
        #expect(try content.seek(to: .seconds(100 as Int64)) == duration)
        #expect(try content.readItems().stamps == [film.count - 1])
        #expect(try content.read() == nil)
        // A seek from there to the beginning plays everything again.
        #expect(try content.seek(to: .zero) == .zero)
        #expect(try content.readItems().stamps == Array(0..<film.count))
        content.close()
        content.close()
    }

    @Test("a seek to the last returned frame returns it again")
    func sameFrame() throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 2)
        // Frames are returned as they are read if none of them is decoded out of order.
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -bf 0 -g 50 -c:a aac -shortest film.mp4",
            in: folder.path)
        let content = FileContent("\(folder.path)/film.mp4")
        _ = try content.open()
        for counter in 0..<10 { #expect(try content.readStamp()?.counter == counter) }
        _ = try content.seek(to: film.position(of: 9))
        #expect(try content.readStamp()?.counter == 9)
    }

    @Test("tracks are selected by language during playback, and text is shown for its duration")
    func tracks() throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 6)
        try folder.write(
            """
            1
            00:00:01,000 --> 00:00:02,500
            <i>Guten</i> Tag
            you

            2
            00:00:04,000 --> 00:00:05,000
            {b}Ende

            """, to: "text.srt")
        let inputs = "\(try film.inputs(in: folder)) -f lavfi -i sine=f=1000:r=44100:d=6 -i text.srt"
        let mapping =
            "-map 0:v -map 1:a -map 2:a -map 3:s -metadata:s:a:0 language=eng -metadata:s:a:1 language=ger "
            + "-metadata:s:s:0 language=ger -metadata creation_time=2026-05-01T12:00:00.5Z"
        for (file, codec) in [("film.mp4", "mov_text"), ("film.mkv", "srt")] {
            try Program.runFFmpeg(
                "\(inputs) \(mapping) \(Self.coding) -c:s \(codec) \(file)", in: folder.path)
            let content = FileContent("file://\(folder.path)/\(file)")
            _ = try content.open()
            let overview = try #require(content.overview)
            let audioFrames = overview.tracks.filter { $0.kind == .audio }
            #expect(audioFrames.map(\.language) == ["en", "de"])
            let text = try #require(overview.tracks.first { $0.kind == .subtitles })
            #expect(text.language == "de")
            #expect(!overview.selected.contains(text.id))
            let anchor = try #require(overview.anchors.first)
            #expect(anchor.source == .file && anchor.position == .zero)
            #expect(
                (anchor.wallTime - WallTime(millisecondsSinceEpoch: 1_777_636_800_000)).magnitude
                    < .seconds(1 as Int64)
            )

            func tone() throws -> Double {
                let items = try content.readItems { item in
                    if case .audio(_, let position) = item { position > .milliseconds(900) } else { false }
                }
                #expect(items.texts.isEmpty)
                return try #require(items.tone)
            }
            let first = try tone()
            #expect(abs(first - 440) < 10, "\(first) Hz in \(file)")
            try content.select(audioFrames[1].id, of: .audio)
            try content.select(text.id, of: .subtitles)
            let rest = try content.readItems()
            #expect(abs(try #require(rest.tone) - 1_000) < 40)
            #expect(rest.texts.map(\.0) == ["Guten Tag\nyou", "{b}Ende"].map { $0.replacingBraces })
            #expect((rest.texts[0].1.lowerBound - .seconds(1 as Int64)).magnitude < .milliseconds(30))
            #expect((rest.texts[0].1.upperBound - .milliseconds(2_500)).magnitude < .milliseconds(30))
            // A seek into a text shows it from there.
            _ = try content.seek(to: .seconds(2 as Int64))
            #expect(try content.readItems().texts.count == 2)
            try content.select(nil, of: .audio)
            _ = try content.seek(to: .zero)
            #expect(try content.readItems().audioFrames.isEmpty)
            #expect(throws: PlaybackError.noTrack("77")) {
                try content.select(ContentTrack.ID(rawValue: "77"), of: .audio)
            }
            #expect(throws: PlaybackError.noTrack(text.id.rawValue)) {
                try content.select(text.id, of: .audio)
            }
        }
    }

    @Test("audio alone is played, and seeks are exact to the sample")
    func audio() throws {
        let folder = try TemporaryFolder()
        try Program.runFFmpeg("-f lavfi -i sine=f=440:r=44100:d=5 tone.mp3", in: folder.path)
        let content = FileContent("\(folder.path)/tone.mp3")
        _ = try content.open()
        #expect(content.overview?.has(.video) == false)
        _ = try content.seek(to: .milliseconds(2_345))
        let items = try content.readItems()
        #expect(items.audioFrames.first?.timestamp.span == .milliseconds(2_345))
        #expect(abs(items.audioFrames.reduce(0) { $0 + $1.sampleCount } - 48 * 2_655) < 48 * 80)
    }

    @Test("media that cannot be played report the reason")
    func failures() throws {
        let folder = try TemporaryFolder()
        func failure(_ address: String) -> PlaybackError? {
            let content = FileContent(address)
            do throws(PlaybackError) {
                _ = try content.open()
                while try content.read() != nil {}
                return nil
            } catch { return error }
        }
        guard case .unreachable? = failure("\(folder.path)/nothing.mp4") else {
            Issue.record("a missing file was not reported as unreachable")
            return
        }
        #expect(failure("gopher://host/film") == .unsupportedAddress("gopher://host/film"))
        try folder.write((0..<50_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }, to: "noise.mp4")
        try folder.write("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n", to: "list.mp4")
        try folder.write("ffconcat version 1.0\nfile noise.mp4\n", to: "concat.mp4")
        for name in ["noise.mp4", "list.mp4", "concat.mp4"] {
            guard case .notPlayable? = failure("\(folder.path)/\(name)") else {
                Issue.record("\(name) is played")
                return
            }
        }
        // A truncated file is played as far as possible.
        let film = StampedVideo(seconds: 4)
        try Program.runFFmpeg("\(try film.inputs(in: folder)) \(Self.coding) film.ts", in: folder.path)
        let bytes = try folder.read("film.ts")
        try folder.write(Array(bytes.prefix(bytes.count / 2)), to: "half.ts")
        let half = FileContent("\(folder.path)/half.ts")
        _ = try half.open()
        let stamps = try half.readItems().stamps
        #expect(stamps.count > 20 && stamps.count < film.count)
        #expect(stamps.prefix(20) == Array(0..<20)[...])
    }

    @Test("an interrupted wait loses no data")
    func interruption() throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 2)
        try Program.runFFmpeg("\(try film.inputs(in: folder)) \(Self.coding) film.mp4", in: folder.path)
        let content = FileContent("\(folder.path)/film.mp4")
        content.interrupt()
        #expect(throws: PlaybackError.interrupted) { try content.open() }
        _ = try content.open()
        var stamps: [Int] = []
        while stamps.count < film.count {
            if stamps.count % 7 == 3 {
                content.interrupt()
                #expect(throws: PlaybackError.interrupted) { try content.read() }
            }
            stamps.append(try #require(try content.readStamp()).counter)
        }
        #expect(stamps == Array(0..<film.count))
        #expect(try content.readStamp() == nil)
    }
}

extension String {
    /// Braces mark the format of libavcodec's texts.
    fileprivate var replacingBraces: String { hasPrefix("{b}") ? String(dropFirst(3)) : self }
}
