import PCastCore
import Testing

@testable import PCastRTP

@Suite("The observations of a hop")
struct QualityEvidenceTests {
    private static func block(highest: UInt32, fraction: UInt8) -> ReportBlock {
        ReportBlock(
            ssrc: 1, fractionLost: fraction, cumulativeLost: 0, highestSequenceNumber: highest, jitter: 0,
            lastSenderReport: 0, delaySinceLastSenderReport: 0)
    }

    @Test("a report's share of losses counts; if it names nothing new after many packets, all are lost")
    func reported() {
        var loss = ReportedLoss()
        loss.observe(nil, sent: 100)
        loss.observe(Self.block(highest: 100, fraction: 0), sent: 100)
        #expect(loss.share == nil)
        loss.observe(Self.block(highest: 200, fraction: 64), sent: 200)
        #expect(loss.share == 0.25)
        loss.observe(Self.block(highest: 200, fraction: 0), sent: 400)
        #expect(loss.share == 1)
        var behind = ReportedLoss()
        behind.observe(Self.block(highest: 100, fraction: 0), sent: 100)
        behind.observe(Self.block(highest: 300, fraction: 128), sent: 200)
        #expect(behind.share == 0, "packets that did not arrive here were not lost on this link")
        loss.observe(Self.block(highest: 400, fraction: 1), sent: 601)
        loss.observe(Self.block(highest: 400, fraction: 0), sent: 602)
        #expect(loss.share == nil, "without sent packets there is no evidence")
    }

    @Test("losses are counted over a second, and few packets give no result")
    func arrived() {
        var loss = ArrivalLoss()
        #expect(loss.observe(expected: 100, received: 100) == nil)
        #expect(loss.observe(expected: 200, received: 190).map { ($0 * 100).rounded() } == 10)
        #expect(loss.observe(expected: 300, received: 270).map { ($0 * 100).rounded() } == 15)
        #expect(loss.observe(expected: 305, received: 275).map { ($0 * 100).rounded() } == 19)
        #expect(loss.observe(expected: 306, received: 276) == nil)
        #expect(loss.observe(expected: 4, received: 4) == nil, "the source restarts")
    }

    @Test("a sender that sent nothing is paused; one that sent much without any arrival lost it")
    func counted() {
        func report(_ count: UInt32, _ second: Int64) -> (information: SenderInformation, arrival: Instant) {
            (
                SenderInformation(ssrc: 1, ntpTimestamp: 0, rtpTimestamp: 0, packetCount: count, octetCount: 0),
                Instant(nanoseconds: second * 1_000_000_000)
            )
        }
        var watch = SenderCount()
        watch.observe(report(100, 1), packets: 100)
        watch.observe(report(200, 2), packets: 195)
        #expect(!watch.isIdle && !watch.isLost)
        watch.observe(report(200, 3), packets: 195)
        #expect(watch.isIdle)
        watch.observe(report(200, 3), packets: 199)
        #expect(!watch.isIdle, "packets arrived after the report")
        watch.observe(report(400, 4), packets: 202)
        #expect(watch.isLost && !watch.isIdle)
        watch.observe(report(600, 5), packets: 380)
        #expect(!watch.isLost)
    }

    @Test("a publisher's report is parsed as it was written, and other packets of its type are ignored")
    func publisherReport() throws {
        let report = PublisherReport(
            isVideoWithheld: true, isVideoCut: true, wanted: .kilobits(2_300), estimate: .kilobits(64))
        let memory = ByteStorage(byteCount: 64)
        let buffer = memory.bytes
        var writer = RTCPWriter(buffer)
        writer.publisherReport(ssrc: 7, report)
        let length = writer.count
        #expect(length == 24)
        let bytes = buffer.extracting(..<length).span
        var reader = RTCPReader()
        #expect(reader.next(in: bytes) == .publisherReport(report))
        buffer[8] = 0x41
        var other = RTCPReader()
        #expect(other.next(in: bytes) == .unknown(type: 204))
    }
}
