import PCastCore
import Testing

/// Headers of H.265 and AV1 of encoders.
@Suite("Headers of H.265 and AV1")
struct EncoderHeaderTests {
    // Sequence parameter sets of libx265, 64x48.
    private static let main = set("42010101600000030090000003000003001ea02083165959ae4caf016808000003000800000300c840")
    private static let main10 = set("42010102200000030090000003000003001ea020831365959ae4caf0168080000003008000000c84")
    private static let main422 = set("4201010408000003009d0800000300001eb020831365959ae4caf0168080000003008000000c84")
    private static let main444 = set(
        "4201010408000003009e0800000300001e90041062cb2b35c995e02d010000030001000003001908")
    private static let interlaced = set(
        "42010101600000030040000003000003001ea02083165959ae4caf016868000003000800000300c840")

    private static func set(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static func configuration(_ set: [UInt8]) throws -> HEVCDecoderConfiguration {
        try #require(
            HEVCDecoderConfiguration(video: [[0x40, 1, 0x0C]], sequence: [set], picture: [[0x44, 1, 0xC1]]))
    }

    // MARK: H.265

    @Test("a configuration of parameter sets has all three kinds, in their order")
    func parameterSets() throws {
        let configuration = try Self.configuration(Self.main)
        #expect(
            configuration.parameterSets
                == [0, 0, 0, 1, 0x40, 1, 0x0C, 0, 0, 0, 1] + Self.main + [0, 0, 0, 1, 0x44, 1, 0xC1])
        #expect(configuration.lengthSize == 4)
        #expect(HEVCDecoderConfiguration(video: [], sequence: [Self.main], picture: [[0x44, 1, 0xC1]]) == nil)
        #expect(HEVCDecoderConfiguration(video: [[0x40, 1, 0x0C]], sequence: [], picture: [[0x44, 1, 0xC1]]) == nil)
        #expect(HEVCDecoderConfiguration(video: [[0x40, 1, 0x0C]], sequence: [Self.main], picture: []) == nil)
    }

    @Test("the profile and the scan type are those of the sequence parameter set")
    func profiles() throws {
        let main = try #require(try Self.configuration(Self.main).profile)
        #expect(main.number == 1 && main.isWidelyDecodable && !main.isInterlaced)
        let main10 = try #require(try Self.configuration(Self.main10).profile)
        #expect(main10.number == 2 && main10.isWidelyDecodable && !main10.isInterlaced)
        for set in [Self.main422, Self.main444] {
            let profile = try #require(try Self.configuration(set).profile)
            #expect(profile.number == 4 && !profile.isWidelyDecodable && !profile.isInterlaced)
        }
        let interlaced = try #require(try Self.configuration(Self.interlaced).profile)
        #expect(interlaced.number == 1 && interlaced.isWidelyDecodable && interlaced.isInterlaced)
    }

    @Test("a truncated sequence parameter set has no profile")
    func truncated() {
        for count in 0..<10 { #expect(Self.main[..<count].withByteView { HEVCProfile($0) } == nil) }
        #expect(Self.main[..<10].withByteView { HEVCProfile($0) } != nil)
        let picture: [UInt8] = [0x44, 1] + Self.main[2...]
        #expect(picture.withByteView { HEVCProfile($0) } == nil)
    }

    @Test("a profile of H.265 that browsers do not decode and interlaced video are reported, each once")
    func findings() throws {
        var review = IngestReview()
        let usual = review.observe(try Self.configuration(Self.main))
        #expect(usual == nil)
        let undecodable = review.observe(try Self.configuration(Self.main422))
        #expect(undecodable == .undecodableH265Profile(4) && undecodable?.code == "undecodable-profile")
        let again = review.observe(try Self.configuration(Self.main422))
        #expect(again == nil)
        let interlaced = review.observe(try Self.configuration(Self.interlaced))
        #expect(interlaced == .interlaced)
    }

    // MARK: AV1

    private func units(_ bytes: [UInt8]) -> (units: [AV1Unit], isMalformed: Bool) {
        bytes.withByteView { view in
            var reader = AV1UnitReader(view)
            var units: [AV1Unit] = []
            while let unit = reader.next() { units.append(unit) }
            return (units, reader.isMalformed)
        }
    }

    @Test("units of AV1 are divided by their sizes, and the last one may have none")
    func unitsOfAV1() {
        // A delimiter, a frame with the extension of layers and a size of two bytes, and one without a size.
        let bytes: [UInt8] = [0x12, 0, 0x36, 0x08, 0x81, 0x00, 0x10, 0x30, 0x30, 1]
        let (units, isMalformed) = units(bytes)
        #expect(!isMalformed)
        #expect(units.map(\.type) == [2, 6, 6])
        #expect(units.map(\.hasSize) == [true, true, false])
        #expect(units.map(\.range) == [0..<2, 2..<7, 7..<10])
        #expect(units.map(\.contents) == [2..<2, 6..<7, 8..<10])
    }

    @Test(
        "units with an invalid header or size are malformed",
        arguments: [
            [0x92, 0], [0x36], [0x32], [0x32, 0x80], [0x32, 2, 0x10], [0x12, 0, 0x32, 0x7F],
            [0x32] + [UInt8](repeating: 0xFF, count: 9), [0x32] + [UInt8](repeating: 0xFF, count: 7) + [0x7F],
        ] as [[UInt8]])
    func malformedUnits(bytes: [UInt8]) {
        #expect(units(bytes).isMalformed)
    }
}
