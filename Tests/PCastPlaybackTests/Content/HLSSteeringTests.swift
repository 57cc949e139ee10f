import PCastCore
import PCastHLS
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("Content steering between pathways", .enabled(if: Program.hasFFmpeg))
struct HLSSteeringTests {
    private let folder: TemporaryFolder
    private let film = StampedVideo(seconds: 12, rate: 10)

    init() throws {
        folder = try TemporaryFolder()
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let variants = ["a", "b"].map { pathway in
            "#EXT-X-STREAM-INF:BANDWIDTH=690000,CODECS=\"avc1.42c00d,mp4a.40.2\",PATHWAY-ID=\"\(pathway)\"\n"
                + "\(pathway)/s.m3u8\n"
        }
        try folder.write(
            "#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer.json?key=1\",PATHWAY-ID=\"a\"\n" + variants.joined(),
            to: "main.m3u8")
    }

    private func read(_ origin: TestOrigin) async throws -> [ContentItem] {
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        return try await content.readItems()
    }

    /// Returns the file of a pathway's server for a path such as `a/s3.ts`.
    private static func answer(_ path: String, _ folder: TemporaryFolder) -> TestOrigin.Answer? {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return (try? folder.read(name)).map { .init(body: $0) }
    }

    @Test("if the server prefers another pathway, playback changes between two segments", .timeLimit(.minutes(5)))
    func preference() async throws {
        let folder = folder
        let queries = Mutex<[[String: String]]>([])
        let hasBegun = Mutex(false)
        let origin = try TestOrigin { request in
            if request.path == "/steer.json" {
                queries.withLock { $0.append(request.query) }
                // The server prefers the other pathway when a segment of the first one was requested.
                let priority = !hasBegun.withLock { $0 } ? "\"a\",\"b\"" : "\"b\",\"a\""
                return .text("{\"VERSION\":1,\"TTL\":1,\"PATHWAY-PRIORITY\":[\(priority)],\"MORE\":{}}")
            }
            guard var answer = Self.answer(request.path, folder) else { return nil }
            // The response is as fast as playback.
            let size = answer.body.count
            if request.path.hasPrefix("/a/"), request.path.hasSuffix(".ts") {
                hasBegun.withLock { $0 = true }
                answer.bytesPerSecond = size
            }
            return answer
        }
        defer { origin.stop() }
        #expect(try await read(origin).stamps == Array(0..<film.count))
        let segments = origin.requests.filter { $0.hasSuffix(".ts") }
        let change = try #require(segments.firstIndex { $0.hasPrefix("/b/") })
        #expect(change > 0 && segments[change...].allSatisfy { $0.hasPrefix("/b/") }, "\(segments)")
        let asked = queries.withLock { $0 }
        #expect(asked.allSatisfy { $0["key"] == "1" } && asked.first?["_HLS_pathway"] == "a")
    }

    @Test(
        "a pathway that fails in the middle of a segment is left at once without loss", .timeLimit(.minutes(5)))
    func failure() async throws {
        let folder = folder
        let origin = try TestOrigin { request in
            guard var answer = Self.answer(request.path, folder) else { return nil }
            if request.path == "/a/s4.ts" {
                // The first response contains half of the segment, and later ones fail.
                guard request.range == nil else { return .status(503) }
                answer.cutAfter = answer.body.count / 2
            }
            return answer
        }
        defer { origin.stop() }
        #expect(try await read(origin).stamps == Array(0..<film.count))
        let segments = origin.requests.filter { $0.hasSuffix(".ts") }
        let change = try #require(segments.firstIndex { $0.hasPrefix("/b/") })
        #expect(segments[change...] == (4..<12).map { "/b/s\($0).ts" }[...])
    }

    @Test("separate audio follows the pathway of the video", .timeLimit(.minutes(5)))
    func audio() async throws {
        var playlist = "#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer.json\",PATHWAY-ID=\"a\"\n"
        for pathway in ["a", "b"] {
            playlist += "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"\(pathway)\",NAME=\"Main\",DEFAULT=YES,"
            playlist += "URI=\"\(pathway)/audio/s.m3u8\"\n"
        }
        for pathway in ["a", "b"] {
            playlist += "#EXT-X-STREAM-INF:BANDWIDTH=690000,CODECS=\"avc1.42c00d,mp4a.40.2\",AUDIO=\"\(pathway)\","
            playlist += "PATHWAY-ID=\"\(pathway)\"\n\(pathway)/s.m3u8\n"
        }
        try folder.write(playlist, to: "main.m3u8")
        let folder = folder
        let hasBegun = Mutex(false)
        let origin = try TestOrigin { request in
            if request.path == "/steer.json" {
                let priority = !hasBegun.withLock { $0 } ? "\"a\",\"b\"" : "\"b\",\"a\""
                return .text("{\"VERSION\":1,\"TTL\":1,\"PATHWAY-PRIORITY\":[\(priority)]}")
            }
            guard var answer = Self.answer(request.path, folder) else { return nil }
            let size = answer.body.count
            if request.path.hasPrefix("/a/"), request.path.hasSuffix(".ts") {
                hasBegun.withLock { $0 = true }
                answer.bytesPerSecond = size
            }
            return answer
        }
        defer { origin.stop() }
        #expect(try await read(origin).stamps == Array(0..<film.count))
        let segments = origin.requests.filter { $0.hasSuffix(".ts") }
        for path in ["audio/s", "s"] {
            let own = segments.filter { $0.hasPrefix("/a/\(path)") || $0.hasPrefix("/b/\(path)") }
            let change = try #require(own.firstIndex { $0.hasPrefix("/b/") }, "\(segments)")
            #expect(own[change...].allSatisfy { $0.hasPrefix("/b/") }, "\(own)")
        }
    }

    /// Writes a multivariant playlist of two pathways with subtitles, and a segment of subtitles for each second.
    private func writeSubtitles() throws {
        var playlist = "#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer.json\",PATHWAY-ID=\"a\"\n"
        for pathway in ["a", "b"] {
            playlist += "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"\(pathway)\",NAME=\"English\",LANGUAGE=\"en\","
            playlist += "URI=\"\(pathway)/t.m3u8\"\n"
        }
        for pathway in ["a", "b"] {
            playlist += "#EXT-X-STREAM-INF:BANDWIDTH=690000,CODECS=\"avc1.42c00d,mp4a.40.2\",SUBTITLES=\"\(pathway)\","
            playlist += "PATHWAY-ID=\"\(pathway)\"\n\(pathway)/s.m3u8\n"
        }
        try folder.write(playlist, to: "main.m3u8")
        var list = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
        for second in 0..<12 {
            list += "#EXTINF:1,\nt\(second).vtt\n"
            let time = second < 10 ? "0\(second)" : "\(second)"
            // The comment gives the file a size at which its rate can be limited.
            try folder.write(
                "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:126000\n\n"
                    + "NOTE \(String(repeating: "x", count: 500))\n\n00:00:\(time).200 --> 00:00:\(time).700\ntext \(second)\n",
                to: "t\(second).vtt")
        }
        try folder.write(list + "#EXT-X-ENDLIST\n", to: "t.m3u8")
    }

    @Test("subtitles follow the pathway of the video, and each is shown", .timeLimit(.minutes(5)))
    func subtitles() async throws {
        try writeSubtitles()
        let folder = folder
        let hasBegun = Mutex(false)
        let origin = try TestOrigin { request in
            if request.path == "/steer.json" {
                let priority = !hasBegun.withLock { $0 } ? "\"a\",\"b\"" : "\"b\",\"a\""
                return .text("{\"VERSION\":1,\"TTL\":1,\"PATHWAY-PRIORITY\":[\(priority)]}")
            }
            guard var answer = Self.answer(request.path, folder) else { return nil }
            let size = answer.body.count
            if request.path.hasPrefix("/a/"), request.path.hasSuffix(".ts") { answer.bytesPerSecond = size }
            // The server changes its preference when subtitles have been requested. All of this pathway would take a minute.
            if request.path.hasPrefix("/a/"), request.path.hasSuffix(".vtt") {
                hasBegun.withLock { $0 = true }
                answer.bytesPerSecond = max(1, size / 5)
            }
            return answer
        }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let track = try #require(content.overview?.tracks.first { $0.kind == .subtitles })
        try await content.select(track.id, of: .subtitles)
        // Subtitles are loaded ahead of playback.
        while !origin.requests.contains("/b/t11.vtt") { try await ContinuousClock().sleep(for: .milliseconds(50)) }
        // Playback does not wait for subtitles. Those that are loaded are present after a seek.
        var texts: [String] = []
        repeat {
            _ = try await content.seek(to: .zero)
            let items = try await content.readItems()
            #expect(items.stamps == Array(0..<film.count))
            texts = items.texts.map(\.0)
        } while texts.count < 12
        #expect(texts == (0..<12).map { "text \($0)" })
        let segments = origin.requests.filter { $0.hasSuffix(".vtt") }
        let change = try #require(segments.firstIndex { $0.hasPrefix("/b/") }, "\(segments)")
        #expect(change > 0 && segments[change...].allSatisfy { $0.hasPrefix("/b/") }, "\(segments)")
    }

    @Test("a pathway that the server clones from the only one is played", .timeLimit(.minutes(5)))
    func clone() async throws {
        try folder.write(
            "#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer.json\"\n#EXT-X-STREAM-INF:BANDWIDTH=690000,"
                + "CODECS=\"avc1.42c00d,mp4a.40.2\",STABLE-VARIANT-ID=\"v\"\na/s.m3u8\n",
            to: "main.m3u8")
        let folder = folder
        let hasBegun = Mutex(false)
        let origin = try TestOrigin { request in
            if request.path == "/steer.json" {
                guard hasBegun.withLock({ $0 }) else {
                    return .text(#"{"VERSION":1,"TTL":1,"PATHWAY-PRIORITY":["."]}"#)
                }
                return .text(
                    #"{"VERSION":1,"TTL":1,"PATHWAY-PRIORITY":["copy","."],"PATHWAY-CLONES":[{"BASE-ID":".","ID":"copy","#
                        + #""URI-REPLACEMENT":{"PER-VARIANT-URIS":{"v":"copy/s.m3u8"}}}]}"#)
            }
            guard var answer = Self.answer(request.path, folder) else { return nil }
            let size = answer.body.count
            if request.path.hasPrefix("/a/"), request.path.hasSuffix(".ts") {
                hasBegun.withLock { $0 = true }
                answer.bytesPerSecond = size
            }
            return answer
        }
        defer { origin.stop() }
        #expect(try await read(origin).stamps == Array(0..<film.count))
        let segments = origin.requests.filter { $0.hasSuffix(".ts") }
        let change = try #require(segments.firstIndex { $0.hasPrefix("/copy/") }, "\(segments)")
        #expect(change > 0 && segments[change...].allSatisfy { $0.hasPrefix("/copy/") }, "\(segments)")
    }

    @Test("clones of a manifest are read, and unusable ones are left out")
    func clones() throws {
        let text =
            #"{"VERSION":1,"PATHWAY-PRIORITY":["c"],"PATHWAY-CLONES":[{"BASE-ID":"a","ID":"c","URI-REPLACEMENT":"#
            + #"{"HOST":"c.example","PARAMS":{"k":"1"},"PER-VARIANT-URIS":{"v":"x"},"PER-RENDITION-URIS":{"r":"y"}}},"#
            + #"{"BASE-ID":"a","ID":"d","URI-REPLACEMENT":{"HOST":"d/e"}}]}"#
        let manifest = try #require(SteeringManifest(json: Array(text.utf8)))
        #expect(
            manifest.clones == [
                PathwayClone(
                    base: "a", id: "c", host: "c.example", parameters: ["k": "1"], variantURIs: ["v": "x"],
                    renditionURIs: ["r": "y"])
            ])
        for clones in [#"{}"#, #"[{"ID":"c"}]"#, "[" + String(repeating: "1,", count: 70) + "1]"] {
            let wrong = #"{"VERSION":1,"PATHWAY-PRIORITY":["c"],"PATHWAY-CLONES":\#(clones)}"#
            #expect(SteeringManifest(json: Array(wrong.utf8)) == nil, "\(clones)")
        }
    }

    @Test("an invalid manifest is rejected")
    func manifests() {
        func manifest(_ text: String) -> SteeringManifest? { SteeringManifest(json: Array(text.utf8)) }
        #expect(
            manifest(#"{"VERSION":1,"TTL":30.5,"RELOAD-URI":"/x","PATHWAY-PRIORITY":["a"]}"#)
                == SteeringManifest(timeToLive: .milliseconds(30_500), reloadURI: "/x", priority: ["a"]))
        #expect(manifest(#"{"VERSION":1,"PATHWAY-PRIORITY":[]}"#)?.timeToLive == SteeringManifest.defaultTimeToLive)
        for text in [
            "", "[]", #"{"VERSION":2,"PATHWAY-PRIORITY":["a"]}"#, #"{"VERSION":1}"#,
            #"{"VERSION":1,"PATHWAY-PRIORITY":[1]}"#, #"{"VERSION":1,"PATHWAY-PRIORITY":"a"}"#,
            "{\"VERSION\":1,\"PATHWAY-PRIORITY\":[" + (0..<100).map { "\"\($0)\"" }.joined(separator: ",") + "]}",
        ] {
            #expect(manifest(text) == nil, "\(text)")
        }
        #expect(manifest(#"{"VERSION":1,"TTL":-1e300,"PATHWAY-PRIORITY":[]}"#)?.timeToLive == .zero)
    }
}
