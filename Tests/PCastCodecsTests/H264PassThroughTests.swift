import PCastCodecs
import PCastCore
import Testing

@Suite struct H264PassThroughTests {
    private static let size = Dimensions(width: 128, height: 96)

    /// Returns encoded frames with a key frame every eighth.
    private static func frames(_ count: Int = 24) throws -> [EncodedFrame] {
        let encoder = try VideoCodecTests.encoder(.h264, size: size)
        return try (0..<count).flatMap {
            try encoder.encode(SampleFrame.moving($0, size: size), forceKeyFrame: $0 % 8 == 0)
        }
    }

    /// Returns the unit without the zero that begins a start code of four bytes.
    private static func trimmed(_ unit: [UInt8]) -> [UInt8] {
        Array(unit[...(unit.lastIndex { $0 != 0 } ?? 0)])
    }

    private func pass(
        _ through: inout H264PassThrough, _ frame: EncodedFrame, isDamaged: Bool = false
    ) throws -> EncodedFrame? {
        try through.pass(
            frame.bytes, isDamaged: isDamaged, timestamp: frame.timestamp, captureTime: frame.captureTime)
    }

    @Test("frames that can be sent are unchanged") func untouched() throws {
        var through = H264PassThrough()
        for frame in try Self.frames() {
            let passed = try #require(try pass(&through, frame))
            #expect(passed.bytes == frame.bytes)
            #expect(passed.isKeyFrame == frame.isKeyFrame)
            #expect(passed.timestamp == frame.timestamp)
            #expect(passed.captureTime == frame.captureTime)
            #expect(passed.codec == .h264)
        }
        #expect(through.droppedCount == 0)
        #expect(through.profile?.description == "constrained baseline")
    }

    @Test("parameter sets that are sent once or separately precede each key frame")
    func parameterSetsPrecedeKeyFrames() throws {
        let frames = try Self.frames()
        let sets = AnnexB.only([7, 8], frames[0].bytes)
        let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xF0]
        for way in ["header", "first", "apart", "delimited"] {
            var through = H264PassThrough(parameterSets: way == "header" ? sets : [])
            let decoder = try H264Decoder()
            if way == "apart" {
                var first = frames[0]
                first.bytes = sets
                #expect(try pass(&through, first) == nil)
            }
            for (number, frame) in frames.enumerated() {
                var bare = frame
                if way != "first" && way != "delimited" || number > 0 {
                    bare.bytes = AnnexB.without([7, 8], frame.bytes)
                }
                if way == "delimited" { bare.bytes = delimiter + bare.bytes }
                let passed = try #require(try pass(&through, bare))
                let types = AnnexB.types(passed.bytes).filter { $0 != 6 }
                let expected: [UInt8] = frame.isKeyFrame ? [7, 8, 5] : [1]
                let delimiters: [UInt8] = way == "delimited" ? [9] : []
                #expect(types == delimiters + expected)
                #expect(try decoder.decode(passed).count == 1)
            }
            #expect(through.droppedCount == 0)
        }
    }

    @Test("nothing is sent before a decodable key frame") func beginning() throws {
        let frames = try Self.frames()
        var through = H264PassThrough()
        for frame in frames[3..<8] { #expect(try pass(&through, frame) == nil) }
        var bare = frames[8]
        bare.bytes = AnnexB.without([7, 8], bare.bytes)
        #expect(try pass(&through, bare) == nil)
        #expect(through.droppedCount == 0)
        #expect(try pass(&through, frames[16])?.isKeyFrame == true)
        #expect(try pass(&through, frames[17]) != nil)
    }

    @Test("a damaged frame and all frames that depend on it are discarded and counted") func damaged() throws {
        let frames = try Self.frames()
        var through = H264PassThrough()
        for (number, frame) in frames.enumerated() {
            var frame = frame
            if number == 3 { frame.bytes = [UInt8](frame.bytes.prefix(5)) }
            let passed = try pass(&through, frame, isDamaged: number == 10)
            #expect((passed == nil) == (3..<8).contains(number) || (10..<16).contains(number))
        }
        #expect(through.droppedCount == 11)
    }

    @Test("timestamps that repeatedly go back are reported, and a clock that was set is not") func times() throws {
        let frames = try Self.frames(80)
        func pass(_ times: [Int64]) throws {
            var through = H264PassThrough()
            for (frame, time) in zip(frames, times) {
                var frame = frame
                frame.timestamp = MediaTime(ticks: time * 3_000, rate: .video)
                #expect(try self.pass(&through, frame) != nil)
            }
        }
        // There are two B-frames between P-frames, in the order of decoding.
        #expect(throws: TranscodeReason.hasReordering) { try pass([0, 3, 1, 2, 6, 4, 5, 9, 7, 8]) }
        #expect(throws: TranscodeReason.hasReordering) { try pass([0, 2, 1, 4, 3, 6, 5]) }
        // This is how RTSP begins, and a clock that is set.
        try pass([13] + Array(1...20))
        try pass(Array(1_000...1_010) + Array(1...10))
        try pass(Array(100...120) + Array(90...120) + Array(95...120))
        try pass([5, 5, 5, 6, 6, 7])
    }

    @Test("units of private types, which have other meanings in RTP, are dropped") func privateUnits() throws {
        let frames = try Self.frames()
        var through = H264PassThrough()
        for frame in frames {
            var marked = frame
            marked.bytes += [0, 0, 0, 1, 28, 1, 2, 3]
            let passed = try #require(try pass(&through, marked))
            #expect(AnnexB.units(passed.bytes).map(Self.trimmed) == AnnexB.units(frame.bytes).map(Self.trimmed))
        }
        // The only slice became a unit of a private type.
        var broken = frames[1]
        broken.bytes = [0, 0, 0, 1, 0x5C] + broken.bytes.dropFirst(5)
        #expect(try pass(&through, broken) == nil)
        #expect(through.droppedCount == 1)
    }

    @Test("a new encoder's parameter sets replace those with the same number") func replaced() throws {
        var through = H264PassThrough()
        _ = try pass(&through, try Self.frames()[0])
        let size = Dimensions(width: 320, height: 192)
        let other = try VideoCodecTests.encoder(.h264, size: size)
        for number in 0..<3 {
            var frame = try #require(
                try other.encode(SampleFrame.moving(number + 30, size: size), forceKeyFrame: true).first)
            if number > 0 { frame.bytes = AnnexB.without([7, 8], frame.bytes) }
            let passed = try #require(try pass(&through, frame))
            #expect(try H264Decoder().decode(passed).first?.dimensions == size)
        }
    }
}

/// Parses NAL units, independently of the module's own parser.
enum AnnexB {
    static func units(_ bytes: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var index = 0
        var start: Int?
        while index < bytes.count {
            let isCode = index + 2 < bytes.count && bytes[index] == 0 && bytes[index + 1] == 0 && bytes[index + 2] == 1
            if isCode {
                if let start { units.append(Array(bytes[start..<index])) }
                start = index + 3
                index += 3
            } else {
                index += 1
            }
        }
        if let start { units.append(Array(bytes[start...])) }
        return units
    }

    static func types(_ bytes: [UInt8]) -> [UInt8] { units(bytes).compactMap { $0.first.map { $0 & 0x1F } } }

    /// Returns the units of the given types only, or of all others.
    static func only(_ types: Set<UInt8>, _ bytes: [UInt8]) -> [UInt8] {
        stream(units(bytes).filter { types.contains($0[0] & 0x1F) })
    }

    static func without(_ types: Set<UInt8>, _ bytes: [UInt8]) -> [UInt8] {
        stream(units(bytes).filter { !types.contains($0[0] & 0x1F) })
    }

    private static func stream(_ units: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in units { bytes += [0, 0, 0, 1] + unit }
        return bytes
    }

    /// Returns the slice types of an access unit, modulo 5: 0 P, 1 B, 2 I (H.264, section 7.4.3).
    static func sliceTypes(_ bytes: [UInt8]) -> [Int] {
        units(bytes).filter { [1, 5].contains($0[0] & 0x1F) }.map { unit in
            var bit = 8
            _ = exponentialGolomb(unit, &bit)
            return exponentialGolomb(unit, &bit) % 5
        }
    }

    private static func exponentialGolomb(_ bytes: [UInt8], _ bit: inout Int) -> Int {
        func next() -> Int {
            defer { bit += 1 }
            return Int(bytes[bit / 8] >> (7 - UInt8(bit % 8))) & 1
        }
        var zeros = 0
        while next() == 0 { zeros += 1 }
        return (0..<zeros).reduce(1) { value, _ in value * 2 + next() } - 1
    }
}
