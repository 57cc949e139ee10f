import PCastCore
import Testing

@Suite("H.264 parameter sets and NAL units")
struct H264Tests {
    /// 1280x720, constrained baseline, level 3.1, as x264 writes it.
    private static let baseline: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
        0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ]

    /// High profile, level 4.0, 120 by 68 macroblocks cropped to 1080 lines, as x264 writes it.
    private static let high: [UInt8] = [
        0x67, 0x64, 0x00, 0x28, 0xAC, 0xD9, 0x40, 0x78, 0x02, 0x27, 0xE5, 0x84, 0x00, 0x00, 0x03, 0x00, 0x04,
        0x00, 0x00, 0x03, 0x00, 0xF0, 0x3C, 0x60, 0xC6, 0x58,
    ]

    /// Numbers that only look random, so that a failure can be repeated.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// The macros of Swift Testing do not accept spans.
    private static func parse(_ unit: [UInt8]) -> H264SequenceParameterSet? { H264SequenceParameterSet(unit.span) }

    private static func describe(
        _ set: H264SequenceParameterSet, _ color: VideoColor, _ unit: [UInt8]
    ) -> [UInt8]? {
        set.describing(color, in: unit.span)
    }

    @Test("profile, level, size and scanning are parsed")
    func fields() throws {
        let baseline = try #require(Self.parse(Self.baseline))
        #expect(baseline.profile == H264ProfileIDC(number: 0x42, constraints: 0xC0) && baseline.level == 31)
        #expect(baseline.dimensions == Dimensions(width: 1280, height: 720) && baseline.isProgressive)
        #expect(!baseline.isTruncated && baseline.matrixCode == nil)
        let high = try #require(Self.parse(Self.high))
        #expect(high.dimensions == Dimensions(width: 1920, height: 1080) && high.profile.description == "high")
    }

    @Test("a color description is added, and replaces another, without changing anything else")
    func color() throws {
        for unit in [Self.baseline, Self.high] {
            let set = try #require(Self.parse(unit))
            let first = try #require(Self.describe(set, .bt601, unit))
            let described = try #require(Self.parse(first))
            #expect(described.matrixCode == 6 && described.isFullRange == false)
            #expect(described.dimensions == set.dimensions && described.profile == set.profile)
            #expect(described.sampleAspectRatio == set.sampleAspectRatio)
            let second = try #require(Self.describe(described, .bt709, first))
            #expect(Self.parse(second)?.matrixCode == 1)
            #expect(Self.describe(try #require(Self.parse(second)), .bt709, second) == second)
        }
    }

    @Test("a truncated parameter set has no color, and is not described")
    func truncated() {
        for unit in [Self.baseline, Self.high] {
            for count in 0..<unit.count {
                let part = Array(unit.prefix(count))
                guard let set = Self.parse(part) else { continue }
                #expect(set.matrixCode == nil)
                guard let described = Self.describe(set, .bt709, part) else { continue }
                #expect(Self.parse(described)?.dimensions == set.dimensions)
            }
            #expect(Self.parse(Array(unit.prefix(8))) == nil)
        }
    }

    @Test("no changed parameter set traps, and every size is within the limit")
    func mutated() {
        var random = Generator(state: 12)
        for _ in 0..<20_000 {
            var changed = [Self.baseline, Self.high].randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changed[Int.random(in: 1..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let set = Self.parse(changed) else { continue }
            #expect((1...H264SequenceParameterSet.maximumSide).contains(set.dimensions.width))
            #expect((1...H264SequenceParameterSet.maximumSide).contains(set.dimensions.height))
            _ = Self.describe(set, .bt709, changed)
        }
    }

    @Test("emulation prevention bytes are skipped, and positions count without them")
    func emulationPrevention() {
        let unit: [UInt8] = [0x67, 0, 0, 3, 1, 0, 0, 3, 0x80]
        let payload = H264BitReader.payload(of: unit.span)
        #expect(payload == [0, 0, 1, 0, 0, 0x80])
        var reader = H264BitReader(offset: 1)
        let first = reader.bits(24, unit.span)
        #expect(first == 1 && reader.position == 24 && !reader.isExhausted)
        let zeros = reader.bits(16, unit.span)
        let last = reader.unsignedExponentialGolomb(unit.span)
        #expect(zeros == 0 && last == 0 && reader.position == 41 && !reader.isExhausted)
        let rest = reader.bits(8, unit.span)
        #expect(rest == 0 && reader.isExhausted)
        var writer = H264BitWriter()
        for byte in [0, 0, 1, 0, 0, 0] as [UInt32] { writer.write(byte, 8) }
        #expect(writer.unit(0x67) == [0x67, 0, 0, 3, 1, 0, 0, 3, 0, 0x80])
    }

    @Test("the units of a byte stream are found at every offset, without trailing zeros")
    func annexB() {
        let units: [[UInt8]] = [
            [0x67, 1], [0x68, 0, 0, 3, 1], [0x65, 0, 1], Array(repeating: 0xFF, count: 30), [0x41],
        ]
        for padding in 0..<20 {
            var stream = [UInt8](repeating: 0, count: padding)
            for (index, unit) in units.enumerated() {
                stream += [0, 0, 1] + unit + [UInt8](repeating: 0, count: index + padding % 3)
            }
            let found = stream.withByteView { bytes in
                var reader = AnnexBReader(bytes)
                var found: [[UInt8]] = []
                while let unit = reader.nextUnit() { found.append(Array(unit)) }
                return found
            }
            #expect(found == units)
        }
    }

    @Test("a slice and both kinds of parameter sets have the IDs that refer to each other")
    func identifiers() {
        let sequence = H264ParameterSetID(Self.baseline.span)
        let unit: [UInt8] = [0x68, 0xCB, 0x83]
        let picture = H264ParameterSetID(unit.span)
        #expect(sequence?.isSequence == true && sequence?.id == 0 && sequence?.sequenceID == 0)
        #expect(picture?.isSequence == false && picture?.id == 0 && picture?.sequenceID == 0)
        // `first_mb_in_slice` 0, `slice_type` 7, `pic_parameter_set_id` 0.
        let whole: [UInt8] = [0x65, 0b1000_1000, 0b1000_0000]
        let (first, second) = (
            H264ParameterSetID.ofSlice(whole.span, at: 1),
            H264ParameterSetID.ofSlice(whole.span.extracting(..<2), at: 1)
        )
        #expect(first == 0 && second == nil)
    }
}
