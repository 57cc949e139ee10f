import Foundation
import PCastCore
import PCastHLS
import Testing

@testable import PCastPlayback

@Suite("HTTP features of web servers", .enabled(if: Program.hasFFmpeg))
struct HLSWebTests {
    private static func film(_ folder: TemporaryFolder) throws -> StampedVideo {
        let film = StampedVideo(seconds: 2, rate: 5)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        return film
    }

    private static func expectWhole(_ address: String, _ film: StampedVideo) async throws {
        let content = ThreadContent(MediaContent.content(at: address))
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems().stamps == Array(0..<film.count))
    }

    /// Python's zlib is the reference of the codings.
    private static func coded(_ bytes: [UInt8], _ coding: String, in folder: TemporaryFolder) throws -> [UInt8] {
        try folder.write(bytes, to: "plain")
        let code =
            switch coding {
            case "gzip": "import gzip;o=gzip.compress(d)"
            case "members": "import gzip;o=gzip.compress(d[:40])+gzip.compress(d[40:])"
            case "zlib": "import zlib;o=zlib.compress(d)"
            default: "import zlib;c=zlib.compressobj(9,8,-15);o=c.compress(d)+c.flush()"
            }
        let program = "d=open('\(folder.path)/plain','rb').read();\(code);open('\(folder.path)/coded','wb').write(o)"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", program]
        try process.run()
        process.waitUntilExit()
        return try folder.read("coded")
    }

    @Test(
        "content codings of playlists and segments are decoded", .timeLimit(.minutes(5)),
        arguments: [("gzip", "gzip"), ("gzip", "x-gzip"), ("members", "gzip"), ("zlib", "deflate"), ("raw", "deflate")])
    func codings(_ coding: String, _ name: String) async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        var coded: [String: [UInt8]] = [:]
        for file in ["s.m3u8", "s0.ts", "s1.ts"] { coded[file] = try Self.coded(folder.read(file), coding, in: folder) }
        let origin = try TestOrigin { [coded] request in
            coded[String(request.path.dropFirst())].map {
                TestOrigin.Answer(headers: ["Content-Encoding": name], hasRanges: false, body: $0)
            }
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/s.m3u8"), film)
    }

    @Test("an unknown content coding is reported at once", .timeLimit(.minutes(5)))
    func unknownCoding() async throws {
        let origin = try TestOrigin { _ in .init(headers: ["Content-Encoding": "br"], body: [1, 2, 3]) }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/s.m3u8"))
        defer { content.close() }
        let failure = try #require(await content.failure())
        #expect("\(failure)".contains("coding br") && "\(failure)".contains("/s.m3u8"))
    }

    @Test(
        "a playlist is recognized by its content type or its beginning, also after redirections",
        .timeLimit(.minutes(5)),
        arguments: [
            ("/Manifest(format=m3u8-aapl)", "application/vnd.apple.mpegurl"), ("/live?type=m3u8", "audio/mpegurl"),
            ("/plain", "text/plain"), ("/far/watch", ""), ("/s.M3U8", "application/x-mpegURL; charset=utf-8"),
        ])
    func recognized(_ path: String, _ type: String) async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        let playlist = try folder.read("s.m3u8")
        let origin = try TestOrigin { request in
            if request.path == "/far/watch" { return .redirect("../deep/x") }
            if request.path == "/deep/x" { return .redirect("/s.m3u8?token=1") }
            if ["/Manifest(format=m3u8-aapl)", "/live", "/plain", "/s.M3U8"].contains(request.path) {
                return .init(headers: ["Content-Type": type], body: playlist)
            }
            return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri(path), film)
    }

    @Test("an address without a suffix that is not a playlist is played as a file", .timeLimit(.minutes(5)))
    func file() async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 2, rate: 5)
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -c:v libx264 -preset ultrafast -c:a aac -shortest film.mp4", in: folder.path
        )
        let body = try folder.read("film.mp4")
        let origin = try TestOrigin { request in
            request.path == "/get" ? .redirect("/film?id=7") : .init(headers: ["Content-Type": "video/mp4"], body: body)
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/get"), film)
    }

    @Test(
        "cookies of a server are returned to it, also by the target of a redirection", .timeLimit(.minutes(5)))
    func cookies() async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        let origin = try TestOrigin { request in
            if request.path == "/enter.m3u8" {
                return .init(
                    status: 302, headers: ["Location": "/s.m3u8", "Set-Cookie": "session=abc; Path=/; HttpOnly"])
            }
            guard request.fields["cookie"]?.contains("session=abc") == true else { return .status(403) }
            return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/enter.m3u8"), film)
    }

    @Test("user name and password of an address are sent as credentials", .timeLimit(.minutes(5)))
    func credentials() async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        let origin = try TestOrigin { request in
            guard request.fields["authorization"] == "Basic dXNlcjpwQHNz" else { return .status(401) }
            return (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0) }
        }
        defer { origin.stop() }
        try await Self.expectWhole("http://user:p%40ss@127.0.0.1:\(origin.port)/s.m3u8", film)
    }

    @Test("a body without a length ends with the connection", .timeLimit(.minutes(5)))
    func unknownLength() async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        let origin = try TestOrigin { request in
            (try? folder.read(String(request.path.dropFirst()))).map { .init(body: $0, endsWithConnection: true) }
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/s.m3u8"), film)
    }

    @Test(
        "characters that are invalid in URIs are encoded, and encoded ones are kept", .timeLimit(.minutes(5)),
        arguments: [
            ("a b.ts", "/a%20b.ts"), ("größe.ts", "/gr%C3%B6%C3%9Fe.ts"), ("c%20d.ts", "/c%20d.ts"),
            ("e[1].ts", "/e%5B1%5D.ts"), ("f{x}|y.ts", "/f%7Bx%7D%7Cy.ts"), ("g+h.ts", "/g+h.ts"),
            ("50%.ts", "/50%25.ts"),
            ("sub\\i.ts", "/sub/i.ts"), ("\u{3000}.ts", "/%E3%80%80.ts"), ("q.ts?t=1 2", "/q.ts"),
            ("\"x\"^`.ts", "/%22x%22%5E%60.ts"),
        ])
    func names(_ written: String, _ asked: String) async throws {
        let folder = try TemporaryFolder()
        let film = StampedVideo(seconds: 1, rate: 5)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let segment = try folder.read("s0.ts")
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(written)\n#EXT-X-ENDLIST\n"
        let origin = try TestOrigin { request in
            request.path == "/v.m3u8" ? .text(playlist) : request.path == asked ? .init(body: segment) : nil
        }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/v.m3u8"), film)
    }

    @Test("segments, keys and whole playlists may be data URIs", .timeLimit(.minutes(5)))
    func inline() async throws {
        let folder = try TemporaryFolder()
        let film = try Self.film(folder)
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
        // The size is that of usual segments: null packets follow the media (ISO/IEC 13818-1, section 2.4.1).
        let filler = (0..<600).flatMap { _ in [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184) }
        for number in 0..<2 {
            let body = Data(try folder.read("s\(number).ts") + filler).base64EncodedString()
            text += "#EXTINF:1,\ndata:video/mp2t;base64,\(body)\n"
        }
        text += "#EXT-X-ENDLIST\n"
        let origin = try TestOrigin { [text] _ in .text(text) }
        defer { origin.stop() }
        try await Self.expectWhole(origin.uri("/s.m3u8"), film)
        let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(origin.uri("/s.m3u8"))\n"
        try await Self.expectWhole(
            "data:application/vnd.apple.mpegurl;base64,\(Data(master.utf8).base64EncodedString())", film)
    }

    @Test(
        "an unusable address is rejected at once with its name", .timeLimit(.minutes(5)),
        arguments: ["ftp://127.0.0.1/x.ts", "http:///x.ts", "http://127.0.0.1:99999/x.ts", "rtmp://a/b", "foo:bar.ts"])
    func neverAsked(_ address: String) async throws {
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(address)\n#EXT-X-ENDLIST\n"
        let origin = try TestOrigin { _ in .text(playlist) }
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/v.m3u8"))
        defer { content.close() }
        let failure = try #require(await content.failure())
        #expect("\(failure)".contains(address), "\(failure)")
        #expect(origin.requests == ["/v.m3u8"], "it is not tried again")
    }
}
