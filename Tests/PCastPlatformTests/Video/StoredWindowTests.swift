import Foundation
import NIOCore
import PCastCore
import PCastHLS
import PCastIO
import PCastRecording
import Testing

@testable import PCastPlatform

@Suite("With a data directory, the window of a stream is on the disk")
struct StoredWindowTests {
    private static let renditions = ["video0", "opus"]

    private static func window(
        _ storage: WindowStorage, recordingTime: TimeSpan = .zero
    ) -> PackagedStream.Window {
        PackagedStream.Window(
            storage: storage, files: WindowFiles(window: .seconds(600)), reader: FileReadingQueue(),
            recordingTime: recordingTime)
    }

    /// Sends 100 s of media. Returns the segments as they were when they were complete, by their addresses. `store` waits
    /// until what can be stored is.
    private static func send(_ run: inout PackagedRun, store: () async -> Void) async throws -> [String: ByteBuffer] {
        var segments: [String: ByteBuffer] = [:]
        for _ in 0..<50 {
            _ = try run.send(100)
            for name in renditions {
                for segment in try await run.playlist(name)?.segments.suffix(2) ?? [] {
                    let uri = try #require(segment.uri)
                    segments[uri] = segments[uri] ?? available(uri, of: run)
                }
            }
            await store()
            _ = run.stream.advance(to: run.now, wallTime: run.wallTime)
        }
        await store()
        return segments
    }

    private static func available(_ uri: String, of run: PackagedRun) -> ByteBuffer? {
        let fields = uri.split(separator: "/").map { String($0) }
        return run.stream.availableFile(fields[1], of: fields[0], at: run.now)
    }

    private static func loaded(_ uri: String, of run: PackagedRun) async -> PackagedStream.Answer<ByteBuffer> {
        let fields = uri.split(separator: "/").map { String($0) }
        return await run.stream.file(fields[1], of: fields[0], at: run.now)
    }

    /// Compares the segments in the playlists with what they were. Returns the addresses of those that are not in memory.
    private static func verify(_ run: PackagedRun, _ segments: [String: ByteBuffer]) async throws -> [String] {
        var stored: [String] = []
        for name in renditions {
            let playlist = try #require(try await run.playlist(name))
            #expect(playlist.mediaSequence == 0 && playlist.segments.count >= 49, "\(name)")
            for segment in playlist.segments {
                let uri = try #require(segment.uri)
                let answer = await loaded(uri, of: run)
                #expect(answer.content != nil && answer.content == segments[uri], "\(uri)")
                let fields = uri.split(separator: "/").map { String($0) }
                if run.stream.isStored(fields[1], of: fields[0]) { stored.append(uri) }
            }
        }
        return stored
    }

    @Test("older segments are read from files, and the newest half a minute is in memory")
    func stored() async throws {
        try await withTemporaryDirectory { folder in
            let storage = try WindowStorage(folder: folder + "/rewind", reserve: 0) { _ in }
            var run = try PackagedRun(layers: 1, rewind: .seconds(600 as Int64), window: Self.window(storage))
            let segments = try await Self.send(&run) { await storage.flush() }
            let stored = try await Self.verify(run, segments)
            #expect((60...72).contains(stored.count), "70 s of two renditions are in files")
            #expect(storage.size == stored.reduce(0) { $0 + (segments[$1]?.readableBytes ?? 0) })
            run.stream.limitWindow(to: .max, storedSize: storage.size / 2, at: run.now)
            let playlist = try #require(try await run.playlist("video0"))
            #expect(playlist.mediaSequence > 0, "a limit of the disk shortens the window")
        }
    }

    @Test("a full disk leaves the window in memory, and the stream is not affected")
    func full() async throws {
        try await withTemporaryDirectory { folder in
            let storage = try WindowStorage(folder: folder, reserve: .max, retryInterval: .zero) { _ in }
            var run = try PackagedRun(layers: 1, rewind: .seconds(600 as Int64), window: Self.window(storage))
            let segments = try await Self.send(&run) { await storage.flush() }
            #expect(try await Self.verify(run, segments).isEmpty)
            #expect(storage.size == 0)
        }
    }

    @Test("the files of a recording serve the window, and nothing is stored twice")
    func recorded() async throws {
        try await RecordingSetup.run { setup in
            let storage = try WindowStorage(folder: setup.folder + "/rewind", reserve: 0) { _ in }
            #expect(await setup.service.begin(RecordingSetup.stream(), instance: "i1"))
            var run = try PackagedRun(
                layers: 1, recorder: setup.service, rewind: .seconds(600 as Int64),
                window: Self.window(storage, recordingTime: .seconds(15 as Int64)))
            setup.service.follow(PackagedRun.id, by: run.stream)
            let segments = try await Self.send(&run) {
                await setup.service.store?.sync()
                await storage.flush()
            }
            let stored = try await Self.verify(run, segments)
            #expect((60...72).contains(stored.count))
            #expect(storage.size == 0)
            setup.service.finish(PackagedRun.id)
            await setup.flush()
            #expect(try await Self.verify(run, segments).count == stored.count, "also after the recording has ended")
            try FileManager.default.removeItem(atPath: setup.folder + "/recordings")
            let uri = try #require(stored.first)
            #expect(await Self.loaded(uri, of: run).isUnreadable, "files that were removed are an error")
        }
    }
}
