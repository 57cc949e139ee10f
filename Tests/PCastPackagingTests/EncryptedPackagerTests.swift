import PCastCore
import PCastHLS
import PCastPackaging
import Synchronization
import Testing

@Suite("Segments and parts are encrypted")
struct EncryptedPackagerTests {
    private static let name = StreamPackagerTests.audio.name

    /// An encryption that shows the key and the vector before the plain bytes. The keys are numbered.
    private static func encryption(_ segmentsPerKey: Int64) -> PackagerEncryption {
        let count = Numbered()
        return PackagerEncryption(
            segmentsPerKey: segmentsPerKey, makeKey: { [UInt8](repeating: count.next(), count: 16) },
            encrypt: { bytes, key, vector in key + vector + bytes })
    }

    private final class Numbered: Sendable {
        private let value = Mutex<UInt8>(0)

        func next() -> UInt8 {
            value.withLock { value in
                value += 1
                return value
            }
        }
    }

    private static func live(segmentsPerKey: Int64?) -> LiveRun {
        LiveRun([StreamPackagerTests.audio]) { configuration in
            configuration.encryption = segmentsPerKey.map { encryption($0) }
        }
    }

    @Test("the key changes after a number of segments, the playlists are valid, and the files follow them")
    func rotation() throws {
        var (run, plain) = (Self.live(segmentsPerKey: 4), Self.live(segmentsPerKey: nil))
        for _ in 0..<30 {
            run.run(.seconds(2 as Int64))
            plain.run(.seconds(2 as Int64))
        }
        #expect(run.violations == [])
        let playlist = try #require(run.playlists[Self.name])
        #expect(playlist.mediaSequence > 8)
        for segment in playlist.segments + (playlist.openSegment.map { [$0] } ?? []) {
            let uri = try #require(segment.keys.first?.uri)
            #expect(segment.keys == [EncryptionKey(uri: "\(Self.name)/i1-key\(segment.number / 4).key")])
            // The initialization section is not encrypted.
            let map = try #require(segment.initialization)
            #expect(map.keys == [])
            #expect(run.bytes(map.uri, Self.name) == plain.bytes(map.uri, Self.name))
            let key = try #require(run.bytes(uri, Self.name))
            #expect(key.count == 16)
            let start = key + EncryptionKey(uri: uri).initializationVector(forSegment: segment.number)
            for file in [segment.uri].compactMap({ $0 }) + segment.parts.map(\.uri) {
                let bytes = try #require(run.bytes(file, Self.name))
                let media = try #require(plain.bytes(file, Self.name))
                #expect(bytes == start + media, "\(file)")
            }
        }
        let keys = Set(playlist.segments.compactMap { $0.keys.first.flatMap { run.bytes($0.uri, Self.name) } })
        #expect(keys.count >= 4)
    }

    @Test("a key is available while a segment with it is, and not longer, and nobody guesses another file's name")
    func retention() throws {
        var run = Self.live(segmentsPerKey: 1)
        run.run(.seconds(5 as Int64))
        let uri = try #require(run.playlists[Self.name]?.segments.first?.keys.first?.uri)
        #expect(run.bytes(uri, Self.name) != nil)
        run.run(.seconds(90 as Int64))
        #expect(run.bytes(uri, Self.name) == nil)
        let next = (run.playlists[Self.name]?.nextNumber ?? 0) + 1
        for name in ["key\(next).key", "key-1.key", "key01.key", "key.key", "key1.m4s"] {
            #expect(run.bytes("\(Self.name)/i1-\(name)", Self.name) == nil, "\(name)")
        }
        #expect(PackagedFile(name: "i1-key3.key", instance: "i1") == .key(3))
        #expect(PackagedFile(name: "i1-key3.key", instance: "i1", isText: true) == nil)
        #expect(PackagedFile.key(3).path(of: "a", instance: "i1") == "a/i1-key3.key")
    }

    @Test("captions are not encrypted, and recordings receive plain media")
    func plain() throws {
        var run = Self.live(segmentsPerKey: 2)
        run.caption("caption", at: .seconds(3 as Int64), for: .seconds(1))
        run.run(.seconds(12 as Int64))
        #expect(run.violations == [])
        let captions = try #require(run.playlists[StreamPackager.captionsName])
        #expect(captions.segments.flatMap { $0.keys } == [])
        let uri = try #require(captions.segments.first?.uri)
        let text = try #require(run.bytes(uri, StreamPackager.captionsName))
        #expect(text.starts(with: Array("WEBVTT".utf8)))
        let parts = run.packager.takeParts()
        let plainCount = parts.count { $0.part.bytes.dropFirst(4).starts(with: Array("moof".utf8)) }
        #expect(plainCount == parts.count && plainCount > 0)
    }
}
