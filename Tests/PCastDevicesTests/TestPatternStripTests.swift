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
