import PCastCore
import PCastTestSupport
import Testing

@testable import PCastPlayback

@Suite("Subtitles in fragmented MP4 in HTTP Live Streaming", .enabled(if: Program.hasFFmpeg))
struct HLSSubtitleTests {
    /// Writes a film of two parts with a discontinuity between them, each of which begins at the timestamp zero. The
    /// subtitles of the first part are WebVTT, and those of the second one TTML.
    private static func film(in folder: TemporaryFolder) throws {
        for (name, first) in [("a", 0), ("b", 10)] {
            let film = StampedVideo(seconds: 2, rate: 5, first: first)
            // Without B-frames, the timestamp of the first frame is zero.
            _ = try HLSFilm(film, segmentSeconds: 1, in: folder, name: name, fragmented: true, options: "-bf 0")
        }
        try folder.write(FragmentedSubtitleBuilder.initialization("wvtt"), to: "ta-init.mp4")
        try folder.write(FragmentedSubtitleBuilder.initialization("stpp", scale: 90_000), to: "tb-init.mp4")
        for number in 0..<2 {
            let cue = FragmentedSubtitleBuilder.cue("<i>vtt</i> \(number)")
            let samples: [FragmentedSubtitleBuilder.Sample] = [
                .init(duration: 200, bytes: FragmentedSubtitleBuilder.empty), .init(duration: 600, bytes: cue),
                .init(duration: 200, bytes: FragmentedSubtitleBuilder.empty),
            ]
            try folder.write(
                FragmentedSubtitleBuilder.fragment(samples, at: number * 1_000), to: "ta\(number).m4s")
            let document =
                "<tt xmlns=\"http://www.w3.org/ns/ttml\"><body><p begin=\"\(number).2s\" dur=\"600ms\">"
                + "ttml<br/>\(number)</p></body></tt>"
            try folder.write(
                FragmentedSubtitleBuilder.fragment(
                    [.init(duration: 90_000, bytes: Array(document.utf8))], at: number * 90_000), to: "tb\(number).m4s")
        }
        for prefix in ["", "t"] {
            let parts = ["a", "b"].map { name in
                "#EXT-X-MAP:URI=\"\(prefix)\(name)-init.mp4\"\n"
                    + (0..<2).map { "#EXTINF:1,\n\(prefix)\(name)\($0).m4s\n" }.joined()
            }
            try folder.write(
                "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n"
                    + parts.joined(separator: "#EXT-X-DISCONTINUITY\n")
                    + "#EXT-X-ENDLIST\n", to: "\(prefix)list.m3u8")
        }
        try folder.write(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",LANGUAGE="en",URI="tlist.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=800000,CODECS="avc1.42c00d,mp4a.40.2,stpp.ttml.im1t,wvtt",SUBTITLES="t"
            list.m3u8

            """, to: "main.m3u8")
    }

    @Test(
        "WebVTT and TTML are shown at the positions of their media, also behind a discontinuity",
        .timeLimit(.minutes(5)),
        arguments: [false, true])
    func shown(fromDisk: Bool) async throws {
        let folder = try TemporaryFolder()
        try Self.film(in: folder)
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(
            MediaContent.content(at: fromDisk ? "\(folder.path)/main.m3u8" : origin.uri("/main.m3u8")))
        defer { content.close() }
        _ = try await content.open()
        let track = try #require(content.overview?.tracks.first { $0.kind == .subtitles })
        try await content.select(track.id, of: .subtitles)
        // Playback does not wait for subtitles. Those that are loaded are present after a seek.
        var texts: [(String, ClosedRange<TimeSpan>)] = []
        repeat {
            _ = try await content.seek(to: .zero)
            let items = try await content.readItems()
            #expect(items.stamps == Array(0..<20))
            texts = items.texts
        } while texts.count < 4
        #expect(texts.map(\.0) == ["vtt 0", "vtt 1", "ttml\n0", "ttml\n1"])
        for (second, text) in texts.enumerated() {
            let start = TimeSpan.milliseconds(Int64(second) * 1_000 + 200)
            #expect((text.1.lowerBound - start).magnitude < .milliseconds(150), "\(text)")
            #expect(text.1.upperBound - text.1.lowerBound == .milliseconds(600))
        }
        #expect(origin.requests.isEmpty == fromDisk)
    }
}
