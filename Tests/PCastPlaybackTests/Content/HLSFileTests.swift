import Foundation
import PCastCore
import Testing

@testable import PCastPlayback

@Suite("Playlists on disk", .enabled(if: Program.hasFFmpeg))
struct HLSFileTests {
    private let folder: TemporaryFolder
    private let film = StampedVideo(seconds: 2, rate: 5)

    init() throws { folder = try TemporaryFolder() }

    private func stamps(_ address: String) async throws -> [Int] {
        let content = ThreadContent(MediaContent.content(at: address))
        defer { content.close() }
        _ = try await content.open()
        #expect(content.overview?.kind == .onDemand)
        return try await content.readItems().stamps
    }

    @Test(
        "a playlist is played by its path and by its file URL, with names that URIs do not permit",
        .timeLimit(.minutes(5)))
    func addresses() async throws {
        let inner = "\(folder.path)/a b #1"
        try FileManager.default.createDirectory(atPath: "\(inner)/sub", withIntermediateDirectories: true)
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        try folder.write(try folder.read("s0.ts"), to: "a b #1/sub/größe 0.ts")
        try folder.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsub/größe 0.ts\n#EXTINF:1,\nfile://\(folder.path)/s1.ts\n"
                + "#EXT-X-ENDLIST\n", to: "a b #1/v.m3u8")
        try folder.write("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nsub/../v.m3u8?x=1\n", to: "a b #1/main.m3u8")
        let whole = Array(0..<film.count)
        #expect(try await stamps("\(inner)/main.m3u8") == whole)
        #expect(try await stamps("file://\(folder.path)/a%20b%20%231/main.m3u8") == whole)
        #expect(try await stamps("file://localhost\(folder.path)/a%20b%20%231/v.m3u8") == whole)
    }

    @Test("byte ranges, an initialization section and an encrypted segment are read", .timeLimit(.minutes(5)))
    func ranges() async throws {
        let key: [UInt8] = (0..<16).map { $0 * 5 + 3 }
        try folder.write(key, to: "key.bin")
        try folder.write("key.bin\n\(folder.path)/key.bin\n", to: "key.info")
        _ = try HLSFilm(
            film, segmentSeconds: 1, in: folder, fragmented: true, options: "-hls_flags single_file")
        #expect(try await stamps("\(folder.path)/s.m3u8") == Array(0..<film.count))
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder, name: "e", options: "-hls_key_info_file key.info")
        #expect(try await stamps("\(folder.path)/e.m3u8") == Array(0..<film.count))
    }

    @Test(
        "a missing file, a folder and a pipe are reported with the file's path",
        .timeLimit(.minutes(5)), arguments: ["gone.ts", "folder", "pipe"])
    func unreadable(_ name: String) async throws {
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/folder", withIntermediateDirectories: false)
        #expect(mkfifo("\(folder.path)/pipe", 0o600) == 0)
        try folder.write("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(name)\n#EXT-X-ENDLIST\n", to: "v.m3u8")
        let content = ThreadContent(MediaContent.content(at: "\(folder.path)/v.m3u8"))
        defer { content.close() }
        guard case .unreachable(let path, _)? = await content.failure() else {
            Issue.record("the file is not reported")
            return
        }
        #expect(path == "\(folder.path)/\(name)")
    }

    @Test(
        "a playlist of a server cannot refer to files", .timeLimit(.minutes(5)), arguments: [false, true],
        ["file", "file:FILE"])
    func remote(beginsOnDisk: Bool, scheme: String) async throws {
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder)
        let playlist =
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(scheme)://\(folder.path)/s0.ts\n#EXT-X-ENDLIST\n"
        let origin = try TestOrigin { _ in .text(playlist) }
        defer { origin.stop() }
        try folder.write("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(origin.uri("/v.m3u8"))\n", to: "main.m3u8")
        let content = ThreadContent(
            MediaContent.content(at: beginsOnDisk ? "\(folder.path)/main.m3u8" : origin.uri("/v.m3u8")))
        defer { content.close() }
        guard case .unreachable(let address, _)? = await content.failure() else {
            Issue.record("the file was read")
            return
        }
        #expect(address.hasSuffix("/s0.ts"))
    }
}
