import Synchronization
import Testing

@testable import PCastWeb

@Suite("Content codings") struct ContentCodingTests {
    private static func decode(_ bytes: [UInt8], _ name: String, pieces: Int) async throws -> (isFine: Bool, [UInt8]) {
        let coding = try #require(ContentCoding(name))
        let collected = Mutex<[UInt8]>([])
        var isFine = true
        for start in stride(from: 0, to: bytes.count, by: pieces) where isFine {
            isFine = await coding.decode(Array(bytes[start..<min(start + pieces, bytes.count)])) { piece in
                collected.withLock { $0 += piece }
                return true
            }
        }
        return (isFine, collected.withLock { $0 })
    }

    /// "hello hello hello hello" by Python's zlib, without a header.
    private static let raw: [UInt8] = [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0xC8, 0x40, 0x27, 0x01]
    private static let text = "hello hello hello hello"

    @Test("encoded content is decoded, however it is divided", arguments: [1, 3, 100])
    func pieces(_ size: Int) async throws {
        let zlib: [UInt8] = [0x78, 0xDA] + Self.raw + [0x68, 0x03, 0x08, 0xB1]
        for bytes in [Self.raw, zlib] {
            let (isFine, plain) = try await Self.decode(bytes, "deflate", pieces: size)
            #expect(isFine && String(decoding: plain, as: UTF8.self) == Self.text)
        }
    }

    @Test("content that is encoded with gzip decodes to the same bytes, and repetitive text becomes smaller")
    func encoding() async throws {
        let playlist = (0..<200).map { "#EXTINF:2.000000,\nvideo0/i1-\($0).m4s\n" }.joined()
        let random = (0..<5_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
        for bytes in [[], [0x41], Array(playlist.utf8), random] {
            let encoded = try #require(GzipEncoder.encode(bytes))
            let (isFine, plain) = try await Self.decode(encoded, "gzip", pieces: 1_000)
            #expect(isFine && plain == bytes)
        }
        #expect(try #require(GzipEncoder.encode(Array(playlist.utf8))).count * 4 < playlist.utf8.count)
    }

    @Test("padding behind the content is ignored, and another member is decoded, in any pieces", arguments: 1...9)
    func padding(_ size: Int) async throws {
        let member = try #require(GzipEncoder.encode(Array(Self.text.utf8)))
        let (isFine, plain) = try await Self.decode(member + member, "gzip", pieces: size)
        #expect(isFine && String(decoding: plain, as: UTF8.self) == Self.text + Self.text)
        // In some of these pieces, the padding begins like a member.
        let (isPadded, once) = try await Self.decode(member + [0, 0, 0x1F, 0, 0x1F, 0x1F, 1], "gzip", pieces: size)
        #expect(isPadded && String(decoding: once, as: UTF8.self) == Self.text)
    }

    @Test("invalid content is rejected, and unknown codings are nil")
    func broken() async throws {
        #expect(!(try await Self.decode(Array("no gzip at all".utf8), "gzip", pieces: 4)).isFine)
        #expect(ContentCoding("br") == nil && ContentCoding("compress") == nil && ContentCoding("") == nil)
    }
}
