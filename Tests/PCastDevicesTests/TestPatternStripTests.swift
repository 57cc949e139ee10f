import PCastCore
import Testing

@testable import PCastDevices

private let sizes = [
    Dimensions(width: 1_280, height: 720), Dimensions(width: 640, height: 360), Dimensions(width: 320, height: 180),
    Dimensions(width: 426, height: 240), Dimensions(width: 333, height: 187), Dimensions(width: 1_920, height: 1_080),
]

/// 2026-11-21T02:15:33.742Z
private let moment = WallTime(millisecondsSinceEpoch: 1_795_227_333_742)

@Suite("The time strip")
struct TestPatternStripTests {
    @Test("the checksum is CRC-8 with polynomial 0x07")
    func checksum() {
        #expect(CyclicRedundancyCheck8.checksum("123456789".utf8) == 0xF4)
        #expect(CyclicRedundancyCheck8.checksum([]) == 0)
    }

    @Test("a stamp is counter, 40 bits of milliseconds and checksum, most significant bit first")
    func layout() throws {
        let stamp = TestPatternStamp(counter: 0xABCD, captureTime: moment)
        let milliseconds = UInt64(1_795_227_333_742) & 0xFF_FFFF_FFFF
        #expect(stamp.bits >> 48 == 0xABCD)
        #expect(stamp.bits >> 8 & 0xFF_FFFF_FFFF == milliseconds)
        let bytes = (0..<7).map { UInt8(truncatingIfNeeded: stamp.bits >> UInt64(56 - 8 * $0)) }
        #expect(UInt8(truncatingIfNeeded: stamp.bits) == CyclicRedundancyCheck8.checksum(bytes))
        #expect(try #require(TestPatternStamp(bits: stamp.bits)) == stamp)
    }

    @Test("any single wrong bit is detected")
    func wrongBit() {
        let bits = TestPatternStamp(counter: 7, captureTime: moment).bits
        for bit in 0..<64 { #expect(TestPatternStamp(bits: bits ^ 1 << UInt64(bit)) == nil) }
    }

    @Test("the capture time is the one nearest to now, before and after the 40 bits wrap")
    func unwrapping() {
        let stamp = TestPatternStamp(counter: 0, captureTime: moment)
        #expect(stamp.captureTime(near: moment + .seconds(3)) == moment)
        #expect(stamp.captureTime(near: moment - .seconds(3)) == moment)
        let wrap = WallTime(millisecondsSinceEpoch: 2 << 40)
        let before = TestPatternStamp(counter: 0, captureTime: wrap - .milliseconds(5))
        #expect(before.captureTime(near: wrap + .milliseconds(20)) == wrap - .milliseconds(5))
    }

    @Test("cells have their specified position, and the strip its height", arguments: sizes)
    func geometry(_ size: Dimensions) throws {
        let frame = TestFrames.empty(size, luma: 77)
        let stamp = TestPatternStamp(counter: 0x5A5A, captureTime: moment)
        TestPatternStrip.draw(stamp, into: frame)
        let rows = max(16, size.height / 18)
        for cell in 0..<64 {
            let expected: UInt8 = stamp.bits >> UInt64(63 - cell) & 1 == 1 ? 235 : 16
            let (first, last) = (cell * size.width / 64, (cell + 1) * size.width / 64 - 1)
            for (column, row) in [(first, 0), (last, 0), (first, rows - 1), (last, rows - 1)] {
                #expect(frame.planeY[row * frame.strideY + column] == expected)
            }
        }
        #expect(frame.planeY[rows * frame.strideY] == 77)
        #expect(TestPatternStrip.read(frame) == stamp)
    }

    @Test("the strip is readable in noise", arguments: sizes)
    func noise(_ size: Dimensions) {
        let frame = TestFrames.empty(size)
        let stamp = TestPatternStamp(counter: 9_999, captureTime: moment)
        TestPatternStrip.draw(stamp, into: frame)
        TestFrames.addNoise(to: frame, amount: 60, seed: 11)
        #expect(TestPatternStrip.read(frame) == stamp)
    }

    @Test("a black, a gray and a tiny frame, and one with a damaged cell, have no strip")
    func none() {
        let size = Dimensions(width: 640, height: 360)
        #expect(TestPatternStrip.read(TestFrames.empty(size, luma: 16)) == nil)
        #expect(TestPatternStrip.read(TestFrames.empty(size, luma: 128)) == nil)
        #expect(TestPatternStrip.read(TestFrames.empty(Dimensions(width: 32, height: 18))) == nil)
        let frame = TestFrames.empty(size)
        let stamp = TestPatternStamp(counter: 1, captureTime: moment)
        TestPatternStrip.draw(stamp, into: frame)
        for row in 0..<20 {
            let flipped: UInt8 = stamp.bits >> 53 & 1 == 1 ? 16 : 235
            for column in 100..<110 { frame.planeY[row * frame.strideY + column] = flipped }
        }
        #expect(TestPatternStrip.read(frame) == nil)
    }
}

/// Frames for tests.
enum TestFrames {
    static func empty(_ dimensions: Dimensions, luma: UInt8 = 16) -> VideoFrame {
        let byteCount = VideoFrame.layout(dimensions).byteCount
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: luma)
        return VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory,
            release: { $0.deallocate() })
    }

    /// Changes every luma sample randomly by at most `amount`. The numbers depend on the seed only.
    static func addNoise(to frame: VideoFrame, amount: Int, seed: UInt64) {
        var state = seed
        for row in 0..<frame.dimensions.height {
            for column in 0..<frame.dimensions.width {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let change = Int(state >> 33) % (2 * amount + 1) - amount
                let index = row * frame.strideY + column
                frame.planeY[index] = UInt8(min(max(Int(frame.planeY[index]) + change, 0), 255))
            }
        }
    }

    /// Returns the luma at the center.
    static func middle(of frame: VideoFrame) -> UInt8 {
        frame.planeY[frame.dimensions.height / 2 * frame.strideY + frame.dimensions.width / 2]
    }
}

@Suite("The test pattern")
struct TestPatternTests {
    private let size = Dimensions(width: 640, height: 360)

    private func draw(_ milliseconds: Int64, counter: Int = 3) -> VideoFrame {
        let frame = TestFrames.empty(size)
        TestPattern(dimensions: size).draw(
            counter: counter, captureTime: WallTime(millisecondsSinceEpoch: 1_795_227_333_000 + milliseconds),
            into: frame)
        return frame
    }

    @Test("the disc is in the middle during the first 100 ms of a UTC second", arguments: [0, 33, 99])
    func discPresent(_ milliseconds: Int64) {
        #expect(TestFrames.middle(of: draw(milliseconds)) == 235)
    }

    @Test("the disc is hidden at other times", arguments: [100, 101, 500, 999])
    func discAbsent(_ milliseconds: Int64) {
        #expect(TestFrames.middle(of: draw(milliseconds)) < 40)
    }

    @Test("the strip has the counter and the capture time")
    func strip() throws {
        let stamp = try #require(TestPatternStrip.read(draw(742, counter: 65_540)))
        #expect(stamp.counter == 4)
        #expect(stamp.milliseconds == 1_795_227_333_742 % (1 << 40))
    }

    @Test("two times have different frames below the strip too: the clock runs and the ball moves")
    func moves() {
        let (first, second) = (draw(200), draw(233))
        var differences = 0
        for row in 40..<size.height {
            for column in 0..<size.width {
                let index = row * first.strideY + column
                if first.planeY[index] != second.planeY[index] { differences += 1 }
            }
        }
        #expect(differences > 100)
    }

    @Test("odd sizes and the smallest are drawn within their memory")
    func sizes() {
        for size in [
            Dimensions(width: 64, height: 32), Dimensions(width: 333, height: 187), Dimensions(width: 100, height: 400),
        ] {
            let frame = TestFrames.empty(size)
            TestPattern(dimensions: size).draw(
                counter: 1, captureTime: WallTime(millisecondsSinceEpoch: 1_795_227_333_020), into: frame)
            #expect(TestFrames.middle(of: frame) == 235)
        }
    }

    @Test("the clock is in UTC, also on leap days and before 1970")
    func clock() {
        #expect(WallClockText(WallTime(millisecondsSinceEpoch: 1_709_210_096_007)).date == "2024-02-29")
        #expect(WallClockText(WallTime(millisecondsSinceEpoch: 1_709_210_096_007)).clock == "12:34:56.007")
        #expect(WallClockText(WallTime(millisecondsSinceEpoch: -1)).date == "1969-12-31")
        #expect(WallClockText(WallTime(millisecondsSinceEpoch: -1)).clock == "23:59:59.999")
    }
}
