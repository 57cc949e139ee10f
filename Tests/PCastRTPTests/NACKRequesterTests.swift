import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

@Suite struct NACKRequesterTests {
    private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

    private func poll(_ requester: inout NACKRequester, at time: Int64) -> [UInt16] {
        var list: [UInt16] = []
        requester.poll(into: &list, at: milliseconds(time))
        return list
    }

    @Test("a gap is requested at once, and then each round trip until it is filled")
    func gap() {
        var requester = NACKRequester()
        requester.roundTrip = .milliseconds(40)
        requester.received(65_535, at: milliseconds(0))
        #expect(requester.deadline == nil)
        requester.received(65_539, at: milliseconds(5))
        #expect(requester.deadline == milliseconds(5))
        #expect(poll(&requester, at: 5) == [0, 1, 2])
        #expect(poll(&requester, at: 54) == [])
        #expect(requester.deadline == milliseconds(55))
        requester.received(65_537, isRetransmission: true, at: milliseconds(54))
        #expect(poll(&requester, at: 55) == [0, 2])
        requester.received(65_536, at: milliseconds(56))
        requester.received(65_538, at: milliseconds(56))
        #expect(requester.deadline == nil)
        #expect(poll(&requester, at: 200) == [])
        #expect(requester.requested == 5)
        #expect(requester.recovered == 3)
    }

    @Test("after an outage only a key frame is requested")
    func keyFrameAfterOutage() {
        var requester = NACKRequester()
        requester.received(100, at: milliseconds(0))
        requester.received(102, at: milliseconds(5))
        requester.skip(to: 700)
        #expect(requester.needsKeyFrame)
        #expect(requester.deadline == nil)
        #expect(poll(&requester, at: 5_000) == [])
        #expect(requester.abandoned == 598)
        requester.received(702, at: milliseconds(5_010))
        #expect(poll(&requester, at: 5_010) == [701])
        requester.keyFrameReceived(upTo: 703)
        #expect(!requester.needsKeyFrame)
    }

    @Test("with reordering, a packet is requested when it is no longer likely to be on its way")
    func overtaken() {
        var requester = NACKRequester()
        requester.roundTrip = .milliseconds(60)
        var time: Int64 = 0
        var sequence: Int64 = 0
        var asked = 0
        requester.received(0, at: milliseconds(0))
        // Each second packet comes 8 ms after the one that it should precede.
        for _ in 0..<100 {
            requester.received(sequence + 2, at: milliseconds(time))
            asked += poll(&requester, at: time).count
            asked += poll(&requester, at: time + 7).count
            requester.received(sequence + 1, at: milliseconds(time + 8))
            asked += poll(&requester, at: time + 9).count
            sequence += 2
            time += 20
        }
        #expect(asked == 1 && requester.reorderWindow == .milliseconds(8))
        // A lost packet is requested after that time, and without reordering at once again.
        requester.received(sequence + 2, at: milliseconds(time))
        #expect(poll(&requester, at: time + 7) == [])
        #expect(poll(&requester, at: time + 8) == [UInt16(sequence + 1)])
        for _ in 0..<100 {
            requester.received(sequence + 1, isRetransmission: true, at: milliseconds(time + 70))
            sequence += 2
            time += 100
            requester.received(sequence + 2, at: milliseconds(time))
            _ = poll(&requester, at: time + 10)
        }
        #expect(requester.reorderWindow < .milliseconds(1))
    }

    @Test("no packet is requested more often than every 20 ms, nor more than ten times")
    func bounds() {
        var requester = NACKRequester()
        requester.roundTrip = .milliseconds(1)
        requester.received(10, at: milliseconds(0))
        requester.received(12, at: milliseconds(0))
        let times = (Int64(0)..<1000).filter { !poll(&requester, at: $0).isEmpty }
        #expect(times == [0, 20, 40, 60, 80, 100, 120, 140, 160, 180])
        #expect(requester.missingCount == 0)
        #expect(requester.abandoned == 1)
        #expect(requester.deadline == nil)
    }

    @Test("a packet that was lost twice is requested twice per round trip, a burst of losses apart")
    func repeating() {
        var requester = NACKRequester()
        requester.roundTrip = .milliseconds(96)
        requester.received(10, at: milliseconds(0))
        requester.received(12, at: milliseconds(0))
        let times = (Int64(0)..<300).filter { !poll(&requester, at: $0).isEmpty }
        #expect(times == [0, 113, 149, 226, 262])
        requester.received(11, isRetransmission: true, at: milliseconds(300))
        #expect(requester.deadline == nil && requester.requested == 5)
    }

    @Test("more than 1000 missing packets clear the list and require a key frame")
    func overflow() {
        var requester = NACKRequester()
        requester.received(0, at: milliseconds(0))
        requester.received(1001, at: milliseconds(0))
        #expect(requester.missingCount == 1000)
        #expect(!requester.needsKeyFrame)
        requester.received(1003, at: milliseconds(0))
        #expect(requester.missingCount == 0)
        #expect(requester.needsKeyFrame)
        #expect(poll(&requester, at: 0) == [])
        requester.received(1005, at: milliseconds(1))
        #expect(poll(&requester, at: 1) == [1004 & 0xFFFF])
        requester.keyFrameReceived(upTo: 1005)
        #expect(!requester.needsKeyFrame)
        #expect(requester.missingCount == 0)
        requester.received(1_000_000, at: milliseconds(2))
        #expect(requester.needsKeyFrame)
    }

    @Test("a key frame makes older packets unnecessary: only missing ones after it count")
    func keyFrame() {
        var requester = NACKRequester()
        requester.received(0, at: milliseconds(0))
        requester.received(900, at: milliseconds(0))
        requester.keyFrameReceived(upTo: 900)
        requester.received(1500, at: milliseconds(0))
        #expect(!requester.needsKeyFrame)
        #expect(requester.missingCount == 599)
    }

    @Test("packets that are 10,000 behind are abandoned")
    func age() {
        var requester = NACKRequester()
        requester.received(0, at: milliseconds(0))
        for sequence in Int64(2)...10_001 { requester.received(sequence, at: milliseconds(0)) }
        #expect(requester.missingCount == 1)
        requester.received(10_002, at: milliseconds(0))
        #expect(requester.missingCount == 0)
        #expect(requester.abandoned == 1)
    }

    @Test("after a restart no packet is missing")
    func restart() {
        var requester = NACKRequester()
        requester.received(0, at: milliseconds(0))
        requester.received(5, at: milliseconds(0))
        requester.restart()
        requester.received(90_000, at: milliseconds(0))
        #expect(requester.missingCount == 0)
        #expect(!requester.needsKeyFrame)
    }

    @Test("with random loss and responses, every packet is requested or arrives, and never both")
    func random() {
        var generator = SeededGenerator(seed: 9)
        var requester = NACKRequester()
        requester.roundTrip = .milliseconds(30)
        var arrived: Set<Int64> = [0]
        requester.received(0, at: milliseconds(0))
        for sequence in Int64(1)...5000 {
            if Int.random(in: 0..<10, using: &generator) > 0 {
                requester.received(sequence, at: milliseconds(sequence))
                arrived.insert(sequence)
            }
            for number in poll(&requester, at: sequence) {
                #expect(!arrived.contains(Int64(number)))
                guard Int.random(in: 0..<3, using: &generator) > 0 else { continue }
                requester.received(Int64(number), isRetransmission: true, at: milliseconds(sequence))
                arrived.insert(Int64(number))
            }
        }
        #expect(requester.missingCount == (0...arrived.max()!).filter { !arrived.contains($0) }.count)
        #expect(requester.recovered > 300)
    }
}
