import Foundation
import PCastCore
import PCastHLS
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("HTTP Live Streaming on demand", .enabled(if: Program.hasFFmpeg))
struct HLSOnDemandTests {
    @Test(
        "each frame is delivered once from beginning to end, and a seek shows the frame at its position",
        arguments: [false, true])
    func seeks(isFragmented: Bool) async throws {
        let film = StampedVideo(seconds: 12)
        let origin = try TestOrigin(serving: film, segmentSeconds: 2, fragmented: isFragmented)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        #expect(try await content.open() == .zero)
        let overview = try #require(content.overview)
        #expect(overview.kind == .onDemand && overview.has(.video) && overview.has(.audio))
        #expect((try #require(overview.duration) - .seconds(12 as Int64)).magnitude < .milliseconds(100))
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count))
        #expect(abs(try #require(items.tone) - 440) < 10)
        let audio = items.audioFrames
        for (left, right) in zip(audio, audio.dropFirst()) {
            #expect(right.timestamp.ticks == left.timestamp.ticks + Int64(left.sampleCount))
        }
        #expect(try await content.read() == nil)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<12 {
            let counter = Int.random(in: 1..<(film.count - 5), using: &random)
            let position = film.position(of: counter)
            #expect(try await content.seek(to: position) == position)
            for expected in counter..<(counter + 4) {
                let stamp = try #require(try await content.readStamp())
                #expect(stamp.counter == expected)
                #expect((stamp.position - film.position(of: expected)).magnitude <= .milliseconds(1))
            }
        }
        // The last two segments of a film that was read to its end are kept and need no further request.
        let count = origin.requests.count
        _ = try await content.seek(to: film.position(of: film.count - 3))
        _ = try await content.readStamp()
        _ = try await content.seek(to: film.position(of: film.count - 20))
        #expect(try await content.readStamp()?.counter == film.count - 20)
        #expect(origin.requests.count <= count + 2)
    }

    @Test("encrypted segments, byte ranges of one file, a discontinuity, and their dates are played")
    func ciphers() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 6)
        let key: [UInt8] = (0..<16).map { $0 * 7 + 1 }
        try folder.write(key, to: "key.bin")
        try folder.write("key.bin\n\(folder.path)/key.bin\n", to: "key.info")
        _ = try HLSFilm(film, segmentSeconds: 2, in: folder, name: "e", options: "-hls_key_info_file key.info")
        var other = film
        other.first = 1_000
        let plain = try HLSFilm(other, segmentSeconds: 2, in: folder, name: "p")
        let segments = try (0..<3).map { try folder.read("p\($0).ts") }
        try folder.write(segments.flatMap(\.self), to: "all.ts")
        let enciphered = String(decoding: try folder.read("e.m3u8"), as: UTF8.self)
        var text = enciphered.replacingOccurrences(of: "#EXT-X-ENDLIST\n", with: "")
        text = text.replacingOccurrences(of: "#EXT-X-VERSION:3", with: "#EXT-X-VERSION:6")
        text += "#EXT-X-DISCONTINUITY\n#EXT-X-KEY:METHOD=NONE\n"
        text += "#EXT-X-PROGRAM-DATE-TIME:\(Timestamp.text(StampedVideo.captureTime + .seconds(100 as Int64)))\n"
        var offset = 0
        for (index, segment) in segments.enumerated() {
            text += "#EXT-X-BYTERANGE:\(segment.count)" + (index == 0 ? "@0" : "") + "\n#EXTINF:2,\nall.ts\n"
            offset += segment.count
        }
        try folder.write(text + "#EXT-X-ENDLIST\n", to: "both.m3u8")
        #expect(plain.count == 3 && offset > 0)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/both.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count) + Array(1_000..<(1_000 + film.count)))
        for (left, right) in zip(items.frameTimes, items.frameTimes.dropFirst()) {
            #expect((right - left - .milliseconds(40)).magnitude < .milliseconds(60))
        }
        let anchors = try #require(content.overview?.anchors)
        #expect(anchors.last.map { $0.wallTime - StampedVideo.captureTime } == .seconds(104 as Int64))
        // The key was requested once.
        #expect(origin.requests.count { $0 == "/key.bin" } == 1)
    }

    @Test("audio languages and subtitles are selected during playback, and date ranges are reported in time")
    func renditions() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 8)
        let hls = try HLSFilm(film, segmentSeconds: 2, in: folder, name: "v", options: "-an")
        for (name, tone) in [("en", 440), ("de", 1_000)] {
            try Program.runFFmpeg(
                "-f lavfi -i sine=f=\(tone):r=48000:d=8 -c:a aac -f hls -hls_time 2 -hls_list_size 0 "
                    + "-hls_segment_filename \(name)%d.ts \(name).m3u8", in: folder.path)
        }
        let range =
            "#EXT-X-DATERANGE:ID=\"goal\",CLASS=\"score\",START-DATE=\""
            + "\(Timestamp.text(StampedVideo.captureTime + .seconds(3 as Int64)))\",DURATION=1,X-COM-TEAM=\"home\"\n"
        try folder.write(hls.playlist(0..<4, isComplete: true, more: range, name: "v"), to: "video.m3u8")
        for number in 0..<4 {
            let second = number * 2
            try folder.write(
                "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:126000\n\n"
                    + "00:0\(second / 60):0\(second).500 --> 00:00:0\(second + 1).500 align:start\n<b>Text</b> \(number) &amp; co\n",
                to: "t\(number).vtt")
        }
        try folder.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + (0..<4).map { "#EXTINF:2,\nt\($0).vtt\n" }.joined()
                + "#EXT-X-ENDLIST\n",
            to: "text.m3u8")
        try folder.write(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",LANGUAGE="en",URI="text.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS="avc1.42c00d,mp4a.40.2",AUDIO="a",SUBTITLES="t"
            video.m3u8

            """, to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let overview = try #require(content.overview)
        let audioFrames = overview.tracks.filter { $0.kind == .audio }
        #expect(audioFrames.map(\.language) == ["en", "de"])
        let text = try #require(overview.tracks.first { $0.kind == .subtitles })
        let first = try await content.readItems(to: .seconds(2 as Int64))
        #expect(first.stamps == Array(0..<51))
        #expect(abs(try #require(first.tone) - 440) < 10)
        try await content.select(audioFrames[1].id, of: .audio)
        try await content.select(text.id, of: .subtitles)
        #expect(content.overview?.selected.contains(audioFrames[1].id) == true)
        let rest = try await content.readItems()
        #expect(rest.stamps == Array(51..<film.count))
        #expect(abs(try #require(rest.tone) - 1_000) < 20)
        let range3 = try #require(rest.metadata.first)
        #expect(range3.source == .dateRange && range3.identifier == "goal" && range3.name == "score")
        #expect(range3.position == .seconds(3 as Int64) && range3.value == "X-COM-TEAM=home")
        // Subtitles arrive as they are loaded, and playback does not wait for them. After a seek they are present.
        _ = try await content.seek(to: .zero)
        let texts = try await content.readItems().texts
        #expect(texts.map(\.0).allSatisfy { $0.hasPrefix("Text") && $0.hasSuffix("& co") })
        for (text, range) in texts {
            let number = try #require(Int(text.split(separator: " ")[1]))
            #expect((range.lowerBound - .milliseconds(Int64(number) * 2_000 + 500)).magnitude < .milliseconds(150))
        }
    }
}
