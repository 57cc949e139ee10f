import PCastCore
import PCastRTP
import Testing

@Suite struct ReceiveStatisticsTests {
    private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

    private var statistics: ReceiveStatistics { ReceiveStatistics(ssrc: 5, clockRate: .video) }

    @Test("before the first packet there is nothing to report")
    func empty() {
        var statistics = statistics
        #expect(statistics.reportBlock(at: milliseconds(0)) == nil)
        #expect(statistics.expected == 0)
    }

    @Test("loss is counted across the wrap, and its fraction since the last report")
    func loss() throws {
        var statistics = statistics
        for number in [65_533, 65_534, 0, 1] as [UInt16] {
            #expect(statistics.received(sequenceNumber: number, timestamp: 0, at: milliseconds(0)) == .inOrder)
        }
        let block = try #require(statistics.reportBlock(at: milliseconds(0)) as ReportBlock?)
        #expect(block.ssrc == 5)
        #expect(block.highestSequenceNumber == 0x0001_0001)
        #expect(block.cumulativeLost == 1)
        #expect(block.fractionLost == 51)
        _ = statistics.received(sequenceNumber: 2, timestamp: 0, at: milliseconds(0))
        #expect(statistics.reportBlock(at: milliseconds(0))?.fractionLost == 0)
        #expect(statistics.received(sequenceNumber: 65_535, timestamp: 0, at: milliseconds(0)) == .late)
        #expect(statistics.lost == 0)
        #expect(statistics.received(sequenceNumber: 2, timestamp: 0, at: milliseconds(0)) == .late)
        #expect(statistics.reportBlock(at: milliseconds(0))?.cumulativeLost == -1)
    }

    @Test("jitter is a sixteenth of each step, and even arrivals have none")
    func jitter() {
        var statistics = statistics
        var timestamp: UInt32 = .max - 4000
        for index in 0..<5 {
            _ = statistics.received(
                sequenceNumber: UInt16(index), timestamp: timestamp, at: milliseconds(Int64(index) * 20))
            timestamp &+= 1800
        }
        #expect(statistics.jitter == 0)
        // The packet is 20 ms late: 1800 ticks, of which a sixteenth counts.
        _ = statistics.received(sequenceNumber: 5, timestamp: timestamp, at: milliseconds(120))
        #expect(statistics.jitter == 112)
    }

    @Test("retransmissions and late packets do not affect jitter")
    func retransmissions() {
        var statistics = statistics
        _ = statistics.received(sequenceNumber: 0, timestamp: 0, at: milliseconds(0))
        _ = statistics.received(sequenceNumber: 2, timestamp: 3600, at: milliseconds(40))
        _ = statistics.received(sequenceNumber: 1, timestamp: 1800, at: milliseconds(300))
        _ = statistics.received(sequenceNumber: 3, timestamp: 5400, isRetransmission: true, at: milliseconds(400))
        #expect(statistics.jitter == 0)
        #expect(statistics.received == 4)
    }

    @Test("a jump of sequence numbers is confirmed by the next packet, and everything restarts")
    func restart() throws {
        var statistics = statistics
        _ = statistics.received(sequenceNumber: 100, timestamp: 0, at: milliseconds(0))
        _ = statistics.received(sequenceNumber: 102, timestamp: 0, at: milliseconds(0))
        #expect(statistics.received(sequenceNumber: 40_000, timestamp: 9, at: milliseconds(0)) == .suspicious)
        #expect(statistics.received(sequenceNumber: 103, timestamp: 9, at: milliseconds(0)) == .inOrder)
        #expect(statistics.received(sequenceNumber: 40_001, timestamp: 9, at: milliseconds(0)) == .suspicious)
        #expect(statistics.received(sequenceNumber: 40_002, timestamp: 9, at: milliseconds(0)) == .restarted)
        let block = try #require(statistics.reportBlock(at: milliseconds(0)) as ReportBlock?)
        #expect(block.highestSequenceNumber == 40_002)
        #expect(block.cumulativeLost == 0)
        #expect(statistics.received == 1)
    }

    @Test("numbers that go back a little while timestamps advance are a restart as well")
    func smallRestart() {
        var statistics = statistics
        _ = statistics.received(sequenceNumber: 1000, timestamp: 50_000, at: milliseconds(0))
        #expect(statistics.received(sequenceNumber: 900, timestamp: 40_000, at: milliseconds(1)) == .late)
        #expect(statistics.received(sequenceNumber: 500, timestamp: 53_000, at: milliseconds(2)) == .suspicious)
        #expect(statistics.received(sequenceNumber: 501, timestamp: 53_000, at: milliseconds(2)) == .restarted)
    }

    @Test("a jump of timestamps alone does not affect jitter")
    func timeJump() {
        var statistics = statistics
        _ = statistics.received(sequenceNumber: 1, timestamp: 0, at: milliseconds(0))
        _ = statistics.received(sequenceNumber: 2, timestamp: 0x7000_0000, at: milliseconds(20))
        _ = statistics.received(sequenceNumber: 3, timestamp: 0x7000_0000 + 1800, at: milliseconds(40))
        #expect(statistics.jitter == 0)
    }

    @Test("the block has the last sender report and the time since its arrival")
    func senderReport() throws {
        var statistics = statistics
        _ = statistics.received(sequenceNumber: 1, timestamp: 0, at: milliseconds(0))
        statistics.received(
            SenderInformation(
                ssrc: 5, ntpTimestamp: 0x1122_3344_5566_7788, rtpTimestamp: 0, packetCount: 0, octetCount: 0),
            at: milliseconds(1000))
        let block = try #require(statistics.reportBlock(at: milliseconds(2500)) as ReportBlock?)
        #expect(block.lastSenderReport == 0x3344_5566)
        #expect(block.delaySinceLastSenderReport == 0x0001_8000)
    }
}

@Suite struct RoundTripTimeTests {
    private let now = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    private func block(sent: TimeSpan, held: TimeSpan) -> ReportBlock {
        ReportBlock(
            ssrc: 1, lastSenderReport: CompactTime(now - sent).rawValue,
            delaySinceLastSenderReport: CompactTime(held).rawValue)
    }

    @Test("the round trip is the time since the report minus the time at the peer")
    func measures() throws {
        var roundTrip = RoundTripTime()
        #expect(roundTrip.update(from: block(sent: .milliseconds(750), held: .milliseconds(500)), at: now) != nil)
        #expect(abs(try #require(roundTrip.latest).milliseconds - 250) < 0.1)
        _ = roundTrip.update(from: block(sent: .milliseconds(90), held: .zero), at: now)
        #expect(abs(try #require(roundTrip.smoothed).milliseconds - 230) < 0.1)
        #expect(abs(try #require(roundTrip.minimum).milliseconds - 90) < 0.1)
    }

    @Test("negative results beyond rounding are rejected, and small ones become zero")
    func negative() {
        var roundTrip = RoundTripTime()
        #expect(roundTrip.update(from: block(sent: .milliseconds(100), held: .milliseconds(500)), at: now) == nil)
        #expect(roundTrip.rejected == 1)
        #expect(roundTrip.latest == nil)
        #expect(roundTrip.update(from: block(sent: .milliseconds(100), held: .milliseconds(105)), at: now) == .zero)
        #expect(roundTrip.update(from: block(sent: .milliseconds(60_000), held: .zero), at: now) == nil)
        #expect(roundTrip.rejected == 2)
    }

    @Test("a peer without a report measures nothing")
    func noReport() {
        var roundTrip = RoundTripTime()
        #expect(roundTrip.update(from: ReportBlock(ssrc: 1), at: now) == nil)
        #expect(roundTrip.rejected == 0)
    }

    @Test("an answer to a receiver reference time is measured as well")
    func delaySinceReport() throws {
        var roundTrip = RoundTripTime()
        let answer = ExtendedReport.DelaySinceReport(
            ssrc: 1, lastReport: CompactTime(now - .milliseconds(80)).rawValue,
            delay: CompactTime(.milliseconds(30)).rawValue)
        #expect(roundTrip.update(from: answer, at: now) != nil)
        #expect(abs(try #require(roundTrip.latest).milliseconds - 50) < 0.1)
    }
}

@Suite struct SenderReportSourceTests {
    private let wall = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

    @Test("a report extrapolates from the newest packet in order, across the wrap")
    func extrapolates() {
        var source = SenderReportSource(ssrc: 3, clockRate: .video)
        #expect(source.report(at: wall) == nil)
        source.sent(sequence: 10, timestamp: 0xFFFF_FFFF, capturedAt: wall, payloadSize: 100, at: milliseconds(0))
        source.sent(
            sequence: 9, timestamp: 5, capturedAt: wall - .milliseconds(500), payloadSize: 50, at: milliseconds(0))
        let report = source.report(at: wall + .milliseconds(100))
        #expect(
            report
                == SenderInformation(
                    ssrc: 3, ntpTimestamp: (wall + .milliseconds(100)).ntpTimestamp, rtpTimestamp: 8999,
                    packetCount: 2, octetCount: 150))
        #expect(source.report(at: wall - .milliseconds(100))?.rtpTimestamp == UInt32.max - 9000)
    }

    @Test("the first report follows the first frame, then every 500 ms for 5 s, then every second")
    func cadence() {
        var source = SenderReportSource(ssrc: 3, clockRate: .opus)
        #expect(source.deadline == nil)
        var times: [Int64] = []
        for time in stride(from: Int64(0), through: 8000, by: 20) {
            if time >= 1000 {
                source.sent(
                    sequence: time, timestamp: 0, capturedAt: wall, payloadSize: 1, at: milliseconds(time))
            }
            if source.poll(at: milliseconds(time), wall: wall) != nil { times.append(time) }
        }
        #expect(times == [1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5500, 6000, 7000, 8000])
    }

    @Test("a report waits for other packets, but not for long")
    func timeout() {
        var source = SenderReportSource(ssrc: 3, clockRate: .opus)
        source.sent(sequence: 1, timestamp: 0, capturedAt: wall, payloadSize: 1, at: milliseconds(0))
        #expect(source.due == milliseconds(0))
        #expect(source.deadline == milliseconds(50))
        #expect(source.poll(at: milliseconds(20), wall: wall) != nil)
        #expect(source.due == milliseconds(520))
        #expect(source.deadline == milliseconds(570))
    }

    @Test("after a switch the old mapping is removed, and a report follows the next packet")
    func mappingChanged() {
        var source = SenderReportSource(ssrc: 3, clockRate: .opus)
        source.sent(sequence: 10, timestamp: 1, capturedAt: wall, payloadSize: 1, at: milliseconds(0))
        #expect(source.poll(at: milliseconds(0), wall: wall)?.rtpTimestamp == 1)
        source.mappingChanged(at: milliseconds(100))
        #expect(source.poll(at: milliseconds(100), wall: wall) == nil)
        source.sent(sequence: 2, timestamp: 777, capturedAt: wall, payloadSize: 1, at: milliseconds(120))
        #expect(source.poll(at: milliseconds(120), wall: wall)?.rtpTimestamp == 777)
    }
}
