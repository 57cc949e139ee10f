import PCastCodecs
import PCastCore
import Testing

@testable import PCastPlayback

@Suite("SAMPLE-AES in HTTP Live Streaming", .enabled(if: Program.hasFFmpeg))
struct HLSSampleEncryptionTests {
    private let encryption = SampleEncryption()
    private let folder: TemporaryFolder
    private let film = StampedVideo(seconds: 3, rate: 5)

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(encryption.key, to: "key.bin")
    }

    private var keyTag: String {
        let digits = encryption.vector.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"key.bin\",IV=0x\(digits)\n"
    }

    private func expectWhole(_ playlist: String) async throws {
        try folder.write(playlist, to: "main.m3u8")
        let origin = try TestOrigin(serving: folder)
        defer { origin.stop() }
        let content = ThreadContent(origin.content("/main.m3u8"))
        defer { content.close() }
        _ = try await content.open()
        let items = try await content.readItems()
        #expect(items.stamps == Array(0..<film.count))
        #expect(abs(try #require(items.tone) - 440) < 10)
        #expect(origin.requests.count { $0 == "/key.bin" } == 1)
    }

    @Test(
        "H.264 and AAC of transport streams are decrypted, also if their types are those of plain streams",
        .timeLimit(.minutes(5)),
        arguments: [true, false])
    func transportStream(isSignaled: Bool) async throws {
        try Program.runFFmpeg(
            "\(try film.inputs(in: folder)) -map 0:v -c:v libx264 -preset ultrafast -bf 0 -g 5 -keyint_min 5 "
                + "-sc_threshold 0 -b:v 600k -x264-params aud=1 -f h264 v.h264 -map 1:a -c:a aac -b:a 128k -f adts a.aac",
            in: folder.path)
        let units = SampleEncryption.accessUnits(try folder.read("v.h264")).enumerated().map { index, units in
            (time: UInt64(126_000 + index * 18_000), units)
        }
        try #require(units.count == film.count)
        let frames = SampleEncryption.audioFrames(try folder.read("a.aac")).enumerated().map { index, frame in
            (time: UInt64(126_000 + index * 1_920), frame)
        }
        for number in 0..<3 {
            let (start, end) = (UInt64(126_000 + number * 90_000), UInt64(126_000 + (number + 1) * 90_000))
            let bytes = encryption.transportStream(
                units.filter { $0.time >= start && $0.time < end }, frames.filter { $0.time >= start && $0.time < end },
                isSignaled: isSignaled)
            try folder.write(bytes, to: "s\(number).ts")
        }
        try await expectWhole(
            "#EXTM3U\n#EXT-X-VERSION:5\n#EXT-X-TARGETDURATION:1\n" + keyTag
                + (0..<3).map { "#EXTINF:1,\ns\($0).ts\n" }.joined() + "#EXT-X-ENDLIST\n")
    }

    @Test("video by a pattern and whole frames of audio are decrypted in fragmented MP4", .timeLimit(.minutes(5)))
    func fragmented() async throws {
        _ = try HLSFilm(film, segmentSeconds: 1, in: folder, fragmented: true)
        try folder.write(encryption.initialization(try folder.read("s-init.mp4")), to: "s-init.mp4")
        for number in 0..<3 {
            let name = "s\(number).m4s"
            try folder.write(encryption.segment(try folder.read(name), video: 1), to: name)
        }
        try await expectWhole(
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n" + keyTag + "#EXT-X-MAP:URI=\"s-init.mp4\"\n"
                + (0..<3).map { "#EXTINF:1,\ns\($0).m4s\n" }.joined() + "#EXT-X-ENDLIST\n")
    }

    @Test("decrypted slices and frames of audio are those before the encryption, and others do not change")
    func samples() {
        var generator = SystemRandomNumberGenerator()
        let decryption = SampleDecryption(key: encryption.key, vector: encryption.vector)
        for size in [2, 47, 48, 49, 50, 64, 65, 200, 208, 209, 5_000] {
            // A unit whose encrypted bytes contain start codes, and one without slices.
            let bodies: [[UInt8]] = [
                [UInt8](repeating: 0xAB, count: size - 1),
                (1..<size).map { _ in UInt8.random(in: 1...255, using: &generator) },
            ]
            for (type, body) in [0x65, 0x41, 0x67].flatMap({ type in bodies.map { (UInt8(type), $0) } }) {
                let unit = [type] + body
                let (head, tail): ([UInt8], [UInt8]) = ([0, 0, 0, 1, 9, 0xF0, 0, 0, 1], [0, 0, 1, 0x68, 1])
                let expected = head + unit + tail
                #expect(decryption.decryptedH264(head + encryption.encrypted(unit: unit) + tail) == expected)
            }
            guard size > 7, size < 8_192 else { continue }
            let header: [UInt8] = [
                0xFF, 0xF1, 0x4C, 0x80 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF), UInt8(size & 7) << 5 | 0x1F, 0xFC,
            ]
            let frame = header + bodies[1].prefix(size - 7)
            let expected = frame + header
            #expect(decryption.decryptedADTS(encryption.encrypted(audio: frame) + header) == expected)
        }
    }

    @Test("bytes that are no samples do not trap")
    func broken() {
        let decryption = SampleDecryption(key: encryption.key, vector: encryption.vector)
        var generator = SystemRandomNumberGenerator()
        let pieces: [UInt8] = [0, 0, 0, 1, 3, 0x65, 0xFF, 0xF1, 0x80, 0x55]
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? 0
            }
            #expect(decryption.decryptedH264(bytes).count <= bytes.count)
            #expect(decryption.decryptedADTS(bytes).count == bytes.count)
        }
    }
}
