import PCastCore
import PCastRTP
import Testing

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
