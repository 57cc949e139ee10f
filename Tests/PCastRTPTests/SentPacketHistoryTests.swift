import PCastCore
import Testing

@testable import PCastRTP

@Suite struct SentPacketHistoryTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("a packet is reported once, and a late arrival once more")
    func once() {
        var history = SentPacketHistory()
        history.sent(65_535, size: 1_000, cluster: 0, at: at(0))
        history.sent(0, size: 900, cluster: 3, at: at(1))
        let first = SentPacketHistory.Packet(sentAt: at(0), size: 1_000, unnumberedSize: 0, cluster: 0)
        let second = SentPacketHistory.Packet(sentAt: at(1), size: 900, unnumberedSize: 0, cluster: 3)
        #expect(history.report(65_535, arrived: false) == .lost(first))
        #expect(history.report(65_535, arrived: false) == nil)
        #expect(history.report(65_535, arrived: true) == .arrivedAfterAll(first))
        #expect(history.report(65_535, arrived: true) == nil)
        #expect(history.report(0, arrived: true) == .arrived(second))
        #expect(history.report(0, arrived: false) == nil)
        #expect(history.report(1, arrived: true) == nil)
        #expect(history.report(40_000, arrived: true) == nil)
    }

    @Test("a packet without a number is reported with the next that has one")
    func unnumbered() {
        var history = SentPacketHistory()
        history.sentUnnumbered(size: 120)
        history.sentUnnumbered(size: 130)
        history.sent(7, size: 1_000, cluster: 0, at: at(0))
        let packet = SentPacketHistory.Packet(sentAt: at(0), size: 1_000, unnumberedSize: 250, cluster: 0)
        #expect(history.report(7, arrived: true) == .arrived(packet))
    }

    @Test("it has no memory before the first packet, and grows to at most two seconds of the rate")
    func memory() {
        var history = SentPacketHistory()
        #expect(history.capacity == 0)
        // 210 packets per second.
        for index in 0..<3_000 {
            history.sent(UInt16(truncatingIfNeeded: index), size: 1_200, cluster: 0, at: at(Int64(index) * 1000 / 210))
        }
        #expect(history.capacity == 512)
        #expect(history.count == 512)
        #expect(history.report(UInt16(2_999), arrived: true) != nil)
        #expect(history.report(UInt16(2_999 - 511), arrived: true) != nil)
        #expect(history.report(UInt16(2_999 - 512), arrived: true) == nil)
        // The maximum rate.
        for index in 3_000..<40_000 {
            history.sent(UInt16(truncatingIfNeeded: index), size: 1_200, cluster: 0, at: at(14_300))
        }
        #expect(history.capacity == SentPacketHistory.maximumCapacity)
        #expect(history.report(UInt16(39_999 - 4_095), arrived: true) != nil)
    }

    @Test("the packets of the next report are prefetched, and nothing else")
    func nearness() {
        var history = SentPacketHistory()
        history.prefetchReported(512) { _, _ in Issue.record("the history is empty") }
        for number in 0..<100 { history.sent(UInt16(number), size: 1_200, cluster: 0, at: at(0)) }
        var brought: [(start: UnsafeRawPointer, count: Int)] = []
        for reported in [nil, 39, 98] as [UInt16?] {
            if let reported { _ = history.report(reported, arrived: true) }
            history.prefetchReported(512) { brought.append(($0, $1)) }
        }
        // Each has sixteen bytes, of lines of 128. Numbers begin at a multiple of that.
        #expect(brought.map(\.count) == [512, 512, 29 * 16])
        #expect(brought.map { $0.start - brought[0].start } == [0, 40 * 16, 99 * 16])
    }

    @Test("reported packets are replaced by new ones")
    func reported() {
        var history = SentPacketHistory()
        // 400 packets per second, with reports 100 ms later.
        for index in 0..<4_000 {
            let now = at(Int64(index) * 1000 / 400)
            history.sent(UInt16(truncatingIfNeeded: index), size: 1_200, cluster: 0, at: now)
            if index >= 40 { #expect(history.report(UInt16(truncatingIfNeeded: index - 40), arrived: true) != nil) }
        }
        #expect(history.capacity == 128)
    }

    @Test("entries from before the growth are still known")
    func growth() {
        var history = SentPacketHistory()
        for index in 0..<1_000 {
            history.sent(UInt16(truncatingIfNeeded: 65_000 + index), size: index, cluster: 0, at: at(Int64(index)))
        }
        for index in 0..<1_000 {
            let packet = SentPacketHistory.Packet(sentAt: at(Int64(index)), size: index, unnumberedSize: 0, cluster: 0)
            #expect(history.report(UInt16(truncatingIfNeeded: 65_000 + index), arrived: true) == .arrived(packet))
        }
    }
}
