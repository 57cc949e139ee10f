import PCastCore
import Testing

@testable import PCastRTP

private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

@Suite struct ResendLimiterTests {
    @Test("a packet is retransmitted at most once in seven eighths of a round trip and in 20 ms")
    func limits() {
        var limiter = ResendLimiter()
        limiter.sent(70_000, roundTrip: .milliseconds(100), at: milliseconds(1000))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(5), at: milliseconds(1019)))
        #expect(limiter.mayResend(70_000, roundTrip: .milliseconds(5), at: milliseconds(1020)))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1087)))
        #expect(limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1088)))
        limiter.sent(70_000, roundTrip: .milliseconds(100), at: milliseconds(1100))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1124)))
        #expect(limiter.mayResend(70_001, roundTrip: .milliseconds(100), at: milliseconds(1150)))
        #expect(limiter.mayResend(70_000 + 65_536, roundTrip: .milliseconds(100), at: milliseconds(1150)))
    }

    @Test("a packet that was lost twice may be repeated once in each round trip, a quarter of it later")
    func following() {
        var limiter = ResendLimiter()
        var times: [Int64] = []
        for time in 0..<350 as Range<Int64> {
            let now = milliseconds(5_000 + time)
            guard limiter.mayResend(9, roundTrip: .milliseconds(100), at: now) else { continue }
            limiter.sent(9, roundTrip: .milliseconds(100), at: now)
            times.append(time)
        }
        #expect(times == [0, 88, 113, 176, 201, 264, 289])
    }
}

@Suite struct RTXEncapsulationTests {
    @Test("the payload of a retransmission begins with the original sequence number")
    func original() {
        let bytes: [UInt8] = [0x12, 0x34, 1, 2, 3, 0xEE, 0xEE, 0xEE]
        #expect(
            RTXEncapsulation.decapsulate(bytes, payload: 0..<5)
                == .packet(originalSequenceNumber: 0x1234, payload: 2..<5))
    }

    @Test("a payload of fewer bytes than a sequence number is a probe")
    func probes() {
        let bytes: [UInt8] = [0x12, 0x34]
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<0) == .probe)
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<1) == .probe)
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<3) == .probe)
        #expect(
            RTXEncapsulation.decapsulate(bytes, payload: 0..<2)
                == .packet(originalSequenceNumber: 0x1234, payload: 2..<2))
    }
}

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
        #expect(history.reportedRecords == nil)
        for number in 0..<100 { history.sent(UInt16(number), size: 1_200, cluster: 0, at: at(0)) }
        var brought: [AddressRange] = []
        for reported in [nil, 39, 98] as [UInt16?] {
            if let reported { _ = history.report(reported, arrived: true) }
            if let memory = history.reportedRecords { brought.append(memory.prefix(512)) }
        }
        // Each has sixteen bytes, of lines of 128. Numbers begin at a multiple of that.
        #expect(brought.map(\.count) == [512, 512, 29 * 16])
        #expect(brought.map { $0.start &- brought[0].start } == [0, 40 * 16, 99 * 16])
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
