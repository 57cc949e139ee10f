import NIOCore
import PCastCodecs
import PCastCore
import PCastHLS
import Testing

@testable import PCastPlatform

@Suite("Encrypted HLS media") struct SegmentEncryptionTests {
    private static func bytes(_ digits: String) -> [UInt8] {
        let values = digits.compactMap { $0.hexDigitValue }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }

    @Test("the first block of the published test vector is encrypted as it states")
    func vector() {
        // NIST SP 800-38A, section F.2.1.
        let encrypted = SegmentEncryption.encrypt(
            Self.bytes("6bc1bee22e409f96e93d7e117393172a"), key: Self.bytes("2b7e151628aed2a6abf7158809cf4f3c"),
            vector: Self.bytes("000102030405060708090a0b0c0d0e0f"))
        #expect(encrypted.count == 32)
        #expect(Array(encrypted.prefix(16)) == Self.bytes("7649abac8119b246cee98e9b12e9197d"))
    }

    @Test("bytes of any length are decrypted by the cipher of the player, which is another library")
    func otherLibrary() {
        let (key, vector) = ([UInt8](repeating: 3, count: 16), [UInt8](repeating: 9, count: 16))
        for count in [0, 1, 15, 16, 17, 31, 32, 100_000] {
            let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let encrypted = SegmentEncryption.encrypt(plain, key: key, vector: vector)
            let decryption = SegmentDecryption(key: key, vector: vector)
            let beginning = decryption.update(encrypted)
            #expect(decryption.finish().map { beginning + $0 } == plain, "\(count) bytes")
        }
    }

    @Test("the keys are random, and all files below the signed path are decrypted with them; keys are not cached")
    func endpoints() async throws {
        var run = try PackagedRun(layers: 1, encryption: SegmentEncryption.packager(segmentsPerKey: 2))
        try run.send(350)
        var keys: Set<[UInt8]> = []
        try await VideoServer.run(run) { server in
            for name in ["video0", "opus"] {
                let text = try await server.send("\(server.signedPath)/\(name).m3u8").text
                #expect(MediaPlaylistRules.check(text: text) == [])
                let playlist = try MediaPlaylist(text)
                for segment in playlist.segments + (playlist.openSegment.map { [$0] } ?? []) {
                    let key = try #require(segment.keys.first)
                    let response = try await server.send("\(server.signedPath)/\(key.uri)")
                    #expect(response.status == 200 && response.header("Cache-Control") == "no-store")
                    #expect(response.header("Content-Type") == "application/octet-stream")
                    let bytes = Array(response.body.readableBytesView)
                    #expect(bytes.count == 16)
                    keys.insert(bytes)
                    for file in [segment.uri].compactMap({ $0 }) + segment.parts.map(\.uri) {
                        let media = try await server.send("\(server.signedPath)/\(file)")
                        #expect(media.header("Cache-Control") == "public, max-age=31536000, immutable")
                        let decryption = SegmentDecryption(
                            key: bytes, vector: key.initializationVector(forSegment: segment.number))
                        let plain = decryption.update(Array(media.body.readableBytesView))
                        #expect(plain.dropFirst(4).starts(with: Array("moof".utf8)), "\(file)")
                        #expect(decryption.finish() != nil, "\(file)")
                    }
                }
            }
            let playlist = try MediaPlaylist(try await server.send("\(server.signedPath)/opus.m3u8").text)
            let key = try #require(playlist.segments.first?.keys.first)
            #expect(try await server.send("\(server.path)/no-signature/\(key.uri)").status == 404)
            let path = server.signedPath
            server.stream.revokeAccess()
            #expect(try await server.send("\(path)/\(key.uri)").status == 404)
        }
        // Two renditions with four segments each.
        #expect(keys.count >= 4)
    }
}
