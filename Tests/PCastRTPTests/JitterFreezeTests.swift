import PCastCore
import PCastRTP
import Testing

@Suite struct JitterFreezeTests {
    @Test("a freeze is a gap of three mean intervals and at least 150 ms more than the mean")
    func freezeDefinition() {
        var detector = FreezeDetector()
        var now: Int64 = 0
        for _ in 0..<40 {
            now += 40
            #expect(detector.frameShown(at: .at(now)) == nil)
        }
        now += 189
        #expect(detector.frameShown(at: .at(now)) == nil)
        for _ in 0..<40 {
            now += 40
            #expect(detector.frameShown(at: .at(now)) == nil)
        }
        now += 190
        #expect(detector.frameShown(at: .at(now)) == .milliseconds(190))
        #expect(detector.freezeCount == 1)
        #expect(detector.totalFreezesDuration == .milliseconds(190))
    }

    @Test("video with a low frame rate freezes after three mean intervals")
    func freezeAtLowFrameRate() {
        var detector = FreezeDetector()
        var now: Int64 = 0
        for _ in 0..<31 {
            now += 200
            _ = detector.frameShown(at: .at(now))
        }
        #expect(detector.frameShown(at: .at(now + 599)) == nil)
        detector = FreezeDetector()
        now = 0
        for _ in 0..<31 {
            now += 200
            _ = detector.frameShown(at: .at(now))
        }
        #expect(detector.frameShown(at: .at(now + 600)) == .milliseconds(600))
    }
}
