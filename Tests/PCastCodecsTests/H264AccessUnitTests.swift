import Foundation
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastCodecs

@Suite struct H264AccessUnitTests {
    private static let sets: [UInt8] = [0, 0, 0, 1, 0x67, 66, 0xC0, 30, 0x8C] + [0, 0, 0, 1, 0x68, 0xCE, 0x3C]

    /// Returns a slice's beginning: `first_mb_in_slice` 0, then the slice's type in its shortest code.
    private static func slice(_ header: UInt8, type: Int, firstBlock: Int = 0) -> [UInt8] {
        func golomb(_ value: Int) -> String {
            let binary = String(value + 1, radix: 2)
            return String(repeating: "0", count: binary.count - 1) + binary
        }
        var bits = golomb(firstBlock) + golomb(type) + "1"
        while bits.count % 8 != 0 { bits += "0" }
        let digits = Array(bits)
        let bytes = stride(from: 0, to: digits.count, by: 8).map { UInt8(String(digits[$0..<$0 + 8]), radix: 2)! }
        return [0, 0, 1, header] + bytes + [0x9A, 0x80]
    }

    @Test("the content is derived from the headers of its units") func kinds() {
        let key = H264AccessUnit([0, 0, 0, 1, 9, 0x10] + Self.sets + Self.slice(0x65, type: 7))
        #expect(key.isKeyFrame && key.hasSequenceParameterSet && key.hasPictureParameterSet && key.hasSlice)
        #expect(!key.hasBidirectionalSlices && !key.isDamaged && !key.hasUnspecifiedUnits)
        #expect(key.profile?.description == "constrained baseline")
        let alone = H264AccessUnit(Self.sets)
        #expect(!alone.hasSlice && !alone.isKeyFrame && !alone.isDamaged)
        for (type, isBidirectional) in [
            (0, false), (1, true), (2, false), (3, false), (5, false), (6, true), (7, false),
        ] {
            let unit = H264AccessUnit(Self.slice(0x41, type: type))
            #expect(unit.hasSlice && !unit.isKeyFrame && !unit.isDamaged)
            #expect(unit.hasBidirectionalSlices == isBidirectional)
        }
        // A later slice counts as well, wherever in the frame it begins.
        let far = H264AccessUnit(Self.slice(0x41, type: 5) + Self.slice(0x01, type: 6, firstBlock: 35_000))
        #expect(far.hasBidirectionalSlices && !far.isDamaged)
    }

    @Test("impossible content is damaged")
    func damage() {
        let slice = Self.slice(0x41, type: 5)
        #expect(H264AccessUnit([]).isDamaged)
        #expect(H264AccessUnit([1, 2, 3, 4, 5, 6, 7]).isDamaged)
        #expect(H264AccessUnit([0, 0, 0, 1]).isDamaged)
        #expect(H264AccessUnit(slice + [0, 0, 1, 0xC1, 0x9A]).isDamaged)  // the forbidden bit
        #expect(H264AccessUnit([0, 0, 1, 0x41]).isDamaged)
        #expect(H264AccessUnit([0, 0, 1, 0x41, 0, 0, 0, 0]).isDamaged)
        #expect(H264AccessUnit(Self.slice(0x41, type: 12)).isDamaged)
        #expect(H264AccessUnit(Self.slice(0x41, type: 5, firstBlock: 120)).isDamaged)  // the first slice is missing
        #expect(H264AccessUnit([0, 0, 1, 0x67, 66]).isDamaged)
        #expect(H264AccessUnit(slice + [0, 0, 1, 0x1F, 1]).hasUnspecifiedUnits)
    }

    @Test(
        "profiles are named, and rarely supported ones are reported",
        arguments: [
            (66, 0xC0, "constrained baseline", true), (66, 0, "baseline", true), (77, 0x40, "main", true),
            (88, 0, "extended", false), (100, 0, "high", true), (100, 0x0C, "constrained high", true),
            (110, 0, "high 10", false), (122, 0, "high 4:2:2", false), (244, 0, "high 4:4:4 predictive", false),
            (44, 0, "profile 44", false),
        ])
    func profiles(_ number: UInt8, _ constraints: UInt8, _ name: String, _ isWidelyDecodable: Bool) {
        let profile = H264ProfileIDC(number: number, constraints: constraints)
        #expect(profile.description == name)
        #expect(profile.isWidelyDecodable == isWidelyDecodable)
    }

    @Test(
        "B-frames in encoded video of other encoders are detected", .enabled(if: Program.hasFFmpeg),
        arguments: [
            "-bf 2 -g 25", "-bf 0", "-bf 3 -g 12 -x264-params slices=4:b-pyramid=strict:aud=1",
            "-bf 2 -flags +ilme+ildct",
        ])
    func bidirectional(_ options: String) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/film.h264"
            let delimited = options.contains("x264-params") ? options : options + " -x264-params aud=1"
            try Program.makeMedia(path, "-f lavfi -i testsrc2=s=320x192:r=25:d=2 -c:v libx264 \(delimited)")
            let received = try #require(
                try Program.run(
                    "ffprobe", ["-v", "error", "-show_entries", "frame=pict_type", "-of", "csv=p=0", path]))
            let types = received.split(separator: "\n").map { $0.first! }
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            // Each unit begins with its delimiter.
            var found: [H264AccessUnit] = []
            var current: [UInt8] = []
            for unit in AnnexB.units(bytes) + [[9]] {
                if unit[0] & 0x1F == 9, !current.isEmpty {
                    found.append(H264AccessUnit(current))
                    current = []
                }
                current += [0, 0, 0, 1] + unit
            }
            #expect(types.count == 50)
            #expect(found.count == 50)
            #expect(found.allSatisfy { $0.hasSlice && !$0.isDamaged })
            #expect(found.count { $0.hasBidirectionalSlices } == types.count { $0 == "B" })
            #expect(types.contains("B") != options.contains("-bf 0"))
            #expect(found[0].isKeyFrame)
        }
    }

    @Test("any bytes are described without a crash") func mutations() throws {
        let encoder = try VideoCodecTests.encoder(.h264, size: Dimensions(width: 96, height: 64))
        let frames = try (0..<4).flatMap {
            try encoder.encode(SampleFrame.moving($0, size: Dimensions(width: 96, height: 64)), forceKeyFrame: $0 == 2)
        }
        var generator = SeededGenerator(seed: 23)
        var damaged = 0
        for round in 0..<8_000 {
            var bytes = frames[round % 4].bytes
            for _ in 0...round % 5 {
                bytes[.random(in: 0..<min(64, bytes.count), using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            bytes.removeLast(.random(in: 0..<bytes.count, using: &generator))
            let memory = GuardPages(bytes)
            if H264AccessUnit(ByteView(memory.bytes)).isDamaged { damaged += 1 }
        }
        #expect(damaged > 1_000)
    }
}

struct MediaAccessTests {
    @Test("names are opened only with the intended schemes, also in encrypted files")
    func schemes() {
        let web = MediaAccess(schemes: ["http", "https"], protocols: ["http", "tcp", "httpproxy"], formats: [])
        for uri in ["http://host/a.ts", "https://host/", "crypto+http://host/a.ts", "crypto:https://host/"] {
            #expect(web.opens(uri), "\(uri)")
        }
        // Protocols of libavformat that are below others, or that lead elsewhere.
        for uri in [
            "httpproxy://127.0.0.1:22/a", "tcp://127.0.0.1:22", "crypto:tcp://127.0.0.1:22", "crypto+httpproxy://a/b",
            "concat:http://host/a|http://host/b", "file:///etc/passwd", "/etc/passwd", "subfile,,start,0,end,9,,:/a",
            "udp://127.0.0.1:1", "", "data:text/plain,x", "crypto+crypto+tcp://a",
        ] {
            #expect(!web.opens(uri), "\(uri)")
        }
        let files = MediaAccess(schemes: ["file"], protocols: ["file"], formats: [])
        #expect(files.opens("/srv/film.mp4"))
        #expect(files.opens("/srv/12:30.mp4"))
        #expect(!files.opens("http://host/"))
        // libavformat reads bytes: a combining character hides no colon from it.
        #expect(!files.opens("tcp:\u{301}//127.0.0.1"))
        #expect(!web.opens("tcp:\u{301}//127.0.0.1/http"))
    }

    @Test("AAC is returned in contiguous packets")
    func audio() throws {
        let encoder = try AACEncoder()
        #expect(encoder.configuration.count >= 2)
        var samples: [Int64] = []
        for index in 0..<50 {
            let frame = AudioFrame(
                samples: (0..<1_920).map { Int16(8_000 * ($0 / 96 % 2)) }, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: Int64(index) * 960, rate: .opus))
            for packet in try encoder.encode(frame) {
                #expect(!packet.bytes.isEmpty)
                samples.append(packet.sample)
            }
        }
        #expect(samples.count >= 40)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $1 - $0 == 1_024 })
    }
}
