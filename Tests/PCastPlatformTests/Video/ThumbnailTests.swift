import Foundation
import NIOCore
import PCastCore
import PCastPackaging
import PCastSFU
import Testing

@testable import PCastPlatform

/// Still images of packaged streams. The programs of these tests are the system's; `pcast thumbnail` is tested with a
/// platform.
@Suite("Thumbnails", .timeLimit(.minutes(5))) struct ThumbnailTests {
    private static let now = Instant(nanoseconds: 1_000_000_000)

    /// Returns the configuration of a shell command.
    private static func shell(_ command: String) -> ThumbnailConfiguration {
        ThumbnailConfiguration(program: "/bin/sh", arguments: ["-c", command])
    }

    /// This is longer than any program of these tests takes.
    private static let ample = Duration.seconds(600)

    private static func live(layers: Int = 1) throws -> PackagedRun {
        var run = try PackagedRun(layers: layers)
        try run.send(150)
        return run
    }

    @Test("the program receives the last key frame of the largest layer with its parameter sets")
    func keyFrame() async throws {
        let run = try Self.live(layers: 3)
        let service = ThumbnailService(
            ThumbnailConfiguration(program: "/bin/cat", arguments: []), timeout: Self.ample)
        let bytes = Array(buffer: try await service.thumbnail(of: run.stream, at: Self.now))
        #expect(bytes == run.stream.lastKeyFrame)
        // A higher layer has more filler data.
        #expect(bytes.count > 2_000)
        let sample = H264Sample(annexB: bytes)
        #expect(sample.isIDR && sample.format?.dimensions == Dimensions(width: 320, height: 180))
    }

    @Test("an image is made once in two seconds, for all requests")
    func cache() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let stream = try Self.live().stream
        let service = ThumbnailService(
            Self.shell("cat >/dev/null; echo made >>\(file); wc -l <\(file)"), timeout: Self.ample)
        @Sendable func image(after span: TimeSpan) async throws -> String {
            String(buffer: try await service.thumbnail(of: stream, at: Self.now + span))
        }
        async let first = image(after: .zero)
        async let second = image(after: .milliseconds(1))
        let images = try await [first, second]
        #expect(images == ["1\n", "1\n"])
        #expect(try await image(after: .milliseconds(1_999)) == "1\n")
        #expect(try await image(after: .milliseconds(2_002)) == "2\n")
    }

    @Test(
        "a program that fails, writes nothing, writes too much, ignores its input or does not end makes no image",
        arguments: [
            "cat; exit 1", "cat >/dev/null", "exec cat /dev/zero", "exit 1", "cat >/dev/null; exec tail -f /dev/null",
        ])
    func failure(command: String) async throws {
        let run = try Self.live()
        let service = ThumbnailService(Self.shell(command), timeout: .milliseconds(500))
        let error = await #expect(throws: APIError.self) {
            _ = try await service.thumbnail(of: run.stream, at: Self.now)
        }
        #expect(error?.kind == .failed)
    }

    @Test("there is no image without a program, or before the first key frame")
    func unavailable() async throws {
        let run = try Self.live()
        let none = await #expect(throws: APIError.self) {
            _ = try await ThumbnailService(nil).thumbnail(of: run.stream, at: Self.now)
        }
        #expect(none?.kind == .playlistUnavailable)
        var audio = try PackagedRun()
        try audio.send(10)
        let stream = audio.stream
        let service = ThumbnailService(ThumbnailConfiguration(program: "/bin/cat", arguments: []))
        let early = await #expect(throws: APIError.self) {
            _ = try await service.thumbnail(of: stream, at: Self.now)
        }
        #expect(early?.kind == .playlistNotReady)
    }

    @Test("parameter sets that came once are repeated, and a layer that stopped is not used")
    func cacheOfKeyFrames() throws {
        let sets: [UInt8] = [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 3]
        let slice: [UInt8] = [0, 0, 0, 1, 0x65, 4, 5]
        func unit(_ layer: Int?, _ bytes: [UInt8], seconds: Int64, isKeyFrame: Bool = true) -> PublishedUnit {
            PublishedUnit(
                stream: PackagedRun.id, layer: layer, codec: layer == nil ? .opus : .h264, bytes: bytes,
                isKeyFrame: isKeyFrame, timestamp: 0,
                captureTime: WallTime(millisecondsSinceEpoch: 1_000_000 + seconds * 1_000))
        }
        var frames = KeyFrameCache()
        #expect(frames.best == nil)
        frames.note(unit(nil, slice, seconds: 0))
        frames.note(unit(0, slice, seconds: 0, isKeyFrame: false))
        #expect(frames.best == nil)
        frames.note(unit(1, sets + slice, seconds: 0))
        frames.note(unit(1, slice, seconds: 2))
        #expect(frames.best == sets + slice)
        frames.note(unit(0, slice, seconds: 12))
        #expect(frames.best == sets + slice)
        frames.note(unit(0, slice, seconds: 13))
        #expect(frames.best == slice)
        frames.note(unit(0, [UInt8](repeating: 1, count: KeyFrameCache.sizeLimit + 1), seconds: 14))
        #expect(frames.best == slice)
        frames.remove(0)
        #expect(frames.best == sets + slice)
        frames.removeAll()
        #expect(frames.best == nil)
    }

    @Test("the thumbnail requires the token of a viewer, and only its stream's")
    func route() async throws {
        let run = try Self.live()
        let program = ThumbnailConfiguration(program: "/bin/cat", arguments: [])
        try await VideoServer.run(run, thumbnails: program) { server in
            let path = "\(server.path)/thumbnail.jpg"
            let token = try VideoServer.token()
            let image = try await server.send(path, ["Authorization": "Bearer \(token)"])
            #expect(image.status == 200 && image.header("Content-Type") == "image/jpeg")
            #expect(image.header("Cache-Control") == "private, max-age=2")
            #expect(Array(buffer: image.body) == run.stream.lastKeyFrame)
            #expect(try await server.send(path).status == 401)
            let foreign = try VideoServer.token(of: VideoServer.silent)
            #expect(try await server.send(path, ["Authorization": "Bearer \(foreign)"]).status == 401)
            for (id, status) in [(VideoServer.silent, 503), (VideoServer.unpackaged, 404)] {
                let own = try VideoServer.token(of: id)
                let answer = try await server.send(
                    "/video/\(id)/thumbnail.jpg", ["Authorization": "Bearer \(own)"])
                #expect(answer.status == status && answer.header("Cache-Control") == "no-store", "\(id)")
            }
            // A signature grants access to playlists and media only.
            #expect(try await server.send("\(server.signedPath)/thumbnail.jpg").status == 404)
        }
    }
}
