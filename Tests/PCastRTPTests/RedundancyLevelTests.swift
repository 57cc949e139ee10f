import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@Suite("The redundancy level of audio")
struct RedundancyLevelTests {
    /// A receiver that reports 50 packets every second.
    private struct Receiver {
        var level = RedundancyLevel()
        private var highest: UInt32 = 1000
        private var lost: Int32 = 0

        init() { report(lost: 0) }

        mutating func report(lost count: Int32) {
            highest += 50
            lost += count
            level.received(
                ReportBlock(
                    ssrc: 1, fractionLost: UInt8(count * 256 / 50), cumulativeLost: lost,
                    highestSequenceNumber: highest, jitter: 0, lastSenderReport: 0, delaySinceLastSenderReport: 0))
        }
    }

    @Test("there is no redundancy without loss")
    func clean() {
        var receiver = Receiver()
        for _ in 0..<100 { receiver.report(lost: 0) }
        #expect(receiver.level.count == 0)
    }

    @Test("the first loss causes one block, and more loss causes two")
    func grows() {
        var receiver = Receiver()
        receiver.report(lost: 1)
        #expect(receiver.level.count == 1)
        receiver.report(lost: 5)
        #expect(receiver.level.count == 2)
    }

    @Test("two percent of random loss keeps redundancy, and a minute without loss ends it")
    func holdsAndEnds() {
        var receiver = Receiver()
        var generator = SeededGenerator(seed: 5)
        var least = 2
        for second in 0..<120 {
            let lost = (0..<50).count { _ in Int.random(in: 0..<50, using: &generator) == 0 }
            receiver.report(lost: Int32(lost))
            if second > 10 { least = min(least, receiver.level.count) }
        }
        #expect(least >= 1)
        for _ in 0..<60 { receiver.report(lost: 0) }
        #expect(receiver.level.count == 0)
    }

    @Test("redundancy never exceeds the bandwidth")
    func bounded() {
        #expect([100, 170, 260, 2_000].map { RedundancyLevel.maximum(within: .kilobits($0)) } == [0, 1, 2, 2])
        var receiver = Receiver()
        receiver.report(lost: 10)
        receiver.level.maximum = 1
        #expect(receiver.level.count == 1)
        receiver.level.maximum = 0
        #expect(receiver.level.count == 0)
    }

    @Test("a repeated report, or one whose numbers went back, is ignored")
    func senseless() {
        var level = RedundancyLevel()
        func block(_ highest: UInt32, _ lost: Int32) -> ReportBlock {
            ReportBlock(
                ssrc: 1, fractionLost: 0, cumulativeLost: lost, highestSequenceNumber: highest, jitter: 0,
                lastSenderReport: 0, delaySinceLastSenderReport: 0)
        }
        level.received(block(100, 0))
        let before = level.loss
        level.received(block(100, 50))
        level.received(block(50, 60))
        #expect(level.loss == before)
    }
}
