import PCastCore
import Testing

@testable import PCastDevices

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
