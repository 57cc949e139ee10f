import PCastCore
import PCastRTP
import PCastTestSupport
import Testing

/// Each type of packet, byte for byte in both directions.
@Suite struct RTCPTests {
    private func write(_ size: Int = 1200, _ body: (inout RTCPWriter) -> Void) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: size)
        let count = bytes.withMutableByteView { buffer in
            var writer = RTCPWriter(buffer)
            body(&writer)
            return writer.count
        }
        return Array(bytes[..<count])
    }

    private func read(_ bytes: [UInt8]) -> [RTCPPacket] {
        var reader = RTCPReader()
        var packets: [RTCPPacket] = []
        while let packet = reader.next(in: bytes.span) { packets.append(packet) }
        return packets
    }

    /// Whether a datagram may wait to be read, by its first bytes (`DatagramPattern.reports`).
    private func mayWait(_ bytes: [UInt8]) -> Bool { DatagramPattern.reports.contains { $0.matches(bytes.span) } }

    @Test("reports and estimates may be deferred, and requests may not")
    func deferrablePackets() throws {
        let report = write {
            $0.receiverReport(ssrc: 1)
            #expect($0.append(Self.block) == true)
        }
        let estimate = write {
            $0.receiverEstimatedBitrate(senderSSRC: 1, bitrate: .kilobits(500), ssrcs: [7 as UInt32].span)
        }
        var recorder = TransportFeedbackRecorder()
        recorder.received(1, at: Instant(nanoseconds: 1_000_000_000))
        let received = recorder.report(at: Instant(nanoseconds: 2_000_000_000))
        let arrivals = try #require(received)
        for bytes in [report, write { $0.receiverReport(ssrc: 1) }, estimate, arrivals] { #expect(mayWait(bytes)) }

        let urgent: [[UInt8]] = [
            write { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 2) },
            write { $0.fullIntraRequest(senderSSRC: 1, mediaSSRC: 2, sequenceNumber: 3) },
            write { $0.goodbye(ssrc: 1) },
            write {
                $0.senderReport(
                    SenderInformation(ssrc: 1, ntpTimestamp: 2, rtpTimestamp: 3, packetCount: 4, octetCount: 5))
            },
            // Requests for one packet or many; media, a STUN check, a handshake, and nearly empty datagrams.
            [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0], [0x80, 102, 0, 1], [0x90, 0xC8 & 0x7F, 0, 1],
            [0, 1, 0, 8], [22, 254, 253, 0], [0x81], [],
        ]
        for bytes in urgent { #expect(!mayWait(bytes), "\(bytes.prefix(4))") }
    }

    private static let block = ReportBlock(
        ssrc: 0x1111_2222, fractionLost: 64, cumulativeLost: -2, highestSequenceNumber: 0x0001_FFFF, jitter: 90,
        lastSenderReport: 0xAABB_CCDD, delaySinceLastSenderReport: 0x0001_8000)

    private static let blockBytes: [UInt8] = [
        0x11, 0x11, 0x22, 0x22, 64, 0xFF, 0xFF, 0xFE, 0, 1, 0xFF, 0xFF, 0, 0, 0, 90, 0xAA, 0xBB, 0xCC, 0xDD, 0, 1, 0x80,
        0,
    ]

    @Test func senderReport() throws {
        let information = SenderInformation(
            ssrc: 0x0102_0304, ntpTimestamp: 0x1122_3344_5566_7788, rtpTimestamp: 0x99AA_BBCC, packetCount: 5,
            octetCount: 600)
        let bytes = write {
            $0.senderReport(information)
            #expect($0.append(Self.block) == true)
        }
        #expect(
            bytes == [
                0x81, 200, 0, 12, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC,
                0, 0, 0, 5, 0, 0, 2, 0x58,
            ] + Self.blockBytes)
        guard case .senderReport(let read, let blocks) = try #require(read(bytes).first) else {
            Issue.record("the packet is not a sender report")
            return
        }
        #expect(read == information)
        #expect(read.compactTimestamp == 0x3344_5566)
        #expect(blocks.count == 1)
        #expect(blocks.block(0, in: bytes) == Self.block)
        #expect(blocks.block(about: 0x1111_2222, in: bytes) == Self.block)
        #expect(blocks.block(about: 1, in: bytes) == nil)
    }

    @Test("a receiver report has at most 31 blocks")
    func receiverReport() throws {
        let bytes = write {
            $0.receiverReport(ssrc: 9)
            for _ in 0..<31 { #expect($0.append(Self.block) == true) }
            #expect($0.append(Self.block) == false)
        }
        #expect(bytes[..<8] == [0x9F, 201, 0, 187, 0, 0, 0, 9])
        #expect(Array(bytes[8..<32]) == Self.blockBytes)
        guard case .receiverReport(9, let blocks) = try #require(read(bytes).first) else {
            Issue.record("the packet is not a receiver report")
            return
        }
        #expect(blocks.block(30, in: bytes) == Self.block)
    }

    @Test("a number of lost packets beyond 24 bits is clamped")
    func lossBounds() {
        let bytes = write {
            $0.receiverReport(ssrc: 9)
            #expect($0.append(ReportBlock(ssrc: 1, cumulativeLost: .max)) == true)
            #expect($0.append(ReportBlock(ssrc: 1, cumulativeLost: .min)) == true)
        }
        #expect(bytes[13..<16] == [0x7F, 0xFF, 0xFF])
        #expect(bytes[37..<40] == [0x80, 0, 0])
    }

    @Test(
        "a CNAME ends with at least one zero, to four bytes",
        arguments: [
            ("ab", [0x81, 202, 0, 3, 0, 0, 0, 7, 1, 2, 0x61, 0x62, 0, 0, 0, 0]),
            ("a", [0x81, 202, 0, 2, 0, 0, 0, 7, 1, 1, 0x61, 0]),
        ] as [(String, [UInt8])])
    func sourceDescription(name: String, expected: [UInt8]) {
        let bytes = write { $0.sourceDescription(ssrc: 7, cname: Array(name.utf8).span) }
        #expect(bytes == expected)
    }

    @Test("a BYE names its sources")
    func goodbye() throws {
        let bytes = write { $0.goodbye(ssrc: 0x0A0B_0C0D) }
        #expect(bytes == [0x81, 203, 0, 1, 0x0A, 0x0B, 0x0C, 0x0D])
        guard case .goodbye(let goodbye) = try #require(read(bytes).first) else {
            Issue.record("the packet is not a BYE")
            return
        }
        #expect(goodbye.count == 1)
        #expect(goodbye.ssrc(0, in: bytes) == 0x0A0B_0C0D)
    }

    private func lost(_ bytes: [UInt8], budget: Int = NegativeAcknowledgement.maximumCountPerDatagram) -> [UInt16] {
        var numbers: [UInt16] = []
        var budget = budget
        for case .negativeAcknowledgement(let nack) in read(bytes) {
            nack.forEach(in: bytes.span, budget: &budget) { numbers.append($0) }
        }
        return numbers
    }

    @Test("a NACK names the stream that lost packets, and its masks pass 2^16")
    func negativeAcknowledgement() {
        let numbers: [UInt16] = [65_530, 65_535, 0, 10, 11, 40]
        let bytes = write {
            #expect($0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: 0x2000_0000, lost: numbers) == 6)
        }
        #expect(
            bytes == [
                0x81, 205, 0, 5, 0, 0, 0, 1, 0x20, 0, 0, 0, 0xFF, 0xFA, 0x80, 0x30, 0, 11, 0, 0, 0, 40, 0, 0,
            ])
        #expect(lost(bytes) == numbers)
        guard case .negativeAcknowledgement(let nack)? = read(bytes).first else {
            Issue.record("the packet is not a NACK")
            return
        }
        #expect(nack.senderSSRC == 1)
        #expect(nack.mediaSSRC == 0x2000_0000)
    }

    @Test("a NACK has as many numbers as fit into its buffer")
    func negativeAcknowledgementWithoutRoom() {
        let numbers: [UInt16] = [1, 100, 200]
        let bytes = write(20) {
            #expect($0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: 2, lost: numbers) == 2)
            #expect($0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: 2, lost: numbers) == 0)
        }
        #expect(lost(bytes) == [1, 100])
    }

    @Test("of a datagram that requests 17,000 packets, 300 are read")
    func negativeAcknowledgementBudget() {
        let pairs = (0..<1000).flatMap { _ -> [UInt8] in [0, 1, 0xFF, 0xFF] }
        let bytes: [UInt8] = [0x81, 205, 0x03, 0xEA, 0, 0, 0, 1, 0, 0, 0, 2] + pairs
        #expect(lost(bytes + bytes).count == 300)
    }

    @Test("random lists of losses are parsed as written")
    func negativeAcknowledgementRoundTrip() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            var number = UInt16.random(in: 0...(.max), using: &generator)
            let numbers = (0..<Int.random(in: 1...100, using: &generator)).map { _ in
                number &+= UInt16.random(in: 1...30, using: &generator)
                return number
            }
            let bytes = write {
                #expect(
                    $0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: 2, lost: numbers) == numbers.count)
            }
            #expect(lost(bytes) == numbers)
        }
    }

    @Test func pictureLossIndication() {
        let bytes = write { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 2) }
        #expect(bytes == [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2])
        #expect(read(bytes) == [.pictureLossIndication(senderSSRC: 1, mediaSSRC: 2)])
    }

    @Test("a full intra request has a sequence number")
    func fullIntraRequest() throws {
        let bytes = write { $0.fullIntraRequest(senderSSRC: 1, mediaSSRC: 2, sequenceNumber: 200) }
        #expect(bytes == [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 200, 0, 0, 0])
        guard case .fullIntraRequest(let request) = try #require(read(bytes).first) else {
            Issue.record("the packet is not a full intra request")
            return
        }
        #expect(request.count == 1)
        #expect(request.entry(0, in: bytes).ssrc == 2)
        #expect(request.entry(0, in: bytes).sequenceNumber == 200)
    }

    @Test("REMB has six bits of exponent and eighteen of mantissa")
    func receiverEstimatedBitrate() throws {
        let ssrcs: [UInt32] = [0x1111_1111, 0x2222_2222]
        let bytes = write {
            $0.receiverEstimatedBitrate(senderSSRC: 1, bitrate: .kilobits(1000), ssrcs: ssrcs.span)
        }
        // 1,000,000 = 250,000 × 2^2; 250,000 = 0x3D090.
        #expect(
            bytes == [
                0x8F, 206, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 2, 0x0B, 0xD0, 0x90, 0x11, 0x11, 0x11,
                0x11, 0x22, 0x22, 0x22, 0x22,
            ])
        guard case .receiverEstimatedBitrate(let estimate) = try #require(read(bytes).first) else {
            Issue.record("the packet is not REMB")
            return
        }
        #expect(estimate.bitrate == .kilobits(1000))
        #expect(estimate.ssrc(1, in: bytes) == 0x2222_2222)
        var huge = bytes
        huge.replaceSubrange(17..<20, with: [0xFF, 0xFF, 0xFF])
        guard case .receiverEstimatedBitrate(let bound) = try #require(read(huge).first) else {
            Issue.record("the larger packet is not REMB")
            return
        }
        #expect(bound.bitrate.bitsPerSecond == .max)
    }

    @Test("extended reports request and answer the round-trip time")
    func extendedReports() throws {
        let delay = ExtendedReport.DelaySinceReport(ssrc: 5, lastReport: 0x0102_0304, delay: 0x0001_0000)
        let bytes = write {
            $0.receiverReferenceTime(ssrc: 1, ntpTimestamp: 0x1122_3344_5566_7788)
            $0.delaySinceLastReport(ssrc: 2, delay)
        }
        #expect(
            bytes == [
                0x80, 207, 0, 4, 0, 0, 0, 1, 4, 0, 0, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                0x80, 207, 0, 5, 0, 0, 0, 2, 5, 0, 0, 3, 0, 0, 0, 5, 1, 2, 3, 4, 0, 1, 0, 0,
            ])
        let packets = read(bytes)
        guard packets.count == 2, case .extendedReport(let question) = packets[0],
            case .extendedReport(let answer) = packets[1]
        else {
            Issue.record("the packet does not contain two extended reports")
            return
        }
        #expect(question.receiverReferenceTime(in: bytes) == 0x1122_3344_5566_7788)
        #expect(answer.receiverReferenceTime(in: bytes) == nil)
        var delays: [ExtendedReport.DelaySinceReport] = []
        answer.forEachDelay(in: bytes.span) { delays.append($0) }
        #expect(delays == [delay])
    }

    @Test("any packet may come first, and zero lengths and unknown types do not stop the reader")
    func reducedSize() {
        let bytes: [UInt8] = [
            0x80, 204, 0, 0, 0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 203, 0, 0, 0x81, 200, 0, 0,
        ]
        #expect(
            read(bytes).dropLast(2) == [
                .unknown(type: 204), .pictureLossIndication(senderSSRC: 1, mediaSSRC: 2),
            ])
        #expect(read(bytes).last == .unknown(type: 200))
        #expect(read(bytes).count == 4)
    }

    @Test("a packet beyond the end stops the reader and is reported")
    func overlong() {
        let bytes: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x81, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2]
        var reader = RTCPReader()
        #expect(reader.next(in: bytes) == .pictureLossIndication(senderSSRC: 1, mediaSSRC: 2))
        #expect(!reader.isMalformed)
        #expect(reader.next(in: bytes) == nil)
        #expect(reader.isMalformed)
        #expect(reader.next(in: bytes) == nil)
    }

    @Test("padding is removed, and too much of it ends the parsing")
    func padding() {
        let good: [UInt8] = [0xA1, 203, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4]
        guard case .goodbye(let goodbye)? = read(good).first else {
            Issue.record("the packet is not a BYE")
            return
        }
        #expect(goodbye.count == 1)
        #expect(read([0xA1, 203, 0, 1, 0, 0, 0, 5]).isEmpty)
        #expect(read([0xA1, 203, 0, 0]).isEmpty)
        #expect(read([0xA1, 203, 0, 1, 0, 0, 0, 4]) == [.unknown(type: 203)])
    }

    private func exhaust(_ bytes: [UInt8]) -> Int {
        var seen = 0
        for packet in read(bytes) {
            seen += 1
            switch packet {
            case .senderReport(_, let blocks), .receiverReport(_, let blocks):
                for index in 0..<blocks.count { _ = blocks.block(index, in: bytes.span) }
            case .goodbye(let goodbye):
                for index in 0..<goodbye.count { _ = goodbye.ssrc(index, in: bytes.span) }
            case .negativeAcknowledgement(let nack):
                var budget = 300
                nack.forEach(in: bytes.span, budget: &budget) { _ in }
            case .fullIntraRequest(let request):
                for index in 0..<request.count { _ = request.entry(index, in: bytes.span) }
            case .receiverEstimatedBitrate(let estimate):
                for index in 0..<estimate.count { _ = estimate.ssrc(index, in: bytes.span) }
            case .transportFeedback(let feedback):
                var reader = TransportFeedback.Reader(feedback)
                while reader.next(in: bytes.span) != nil {}
            case .pauseResume(let packet):
                var reader = PauseResume.Reader(packet)
                while reader.next(in: bytes.span) != nil {}
            case .extendedReport(let report):
                _ = report.receiverReferenceTime(in: bytes.span)
                report.forEachDelay(in: bytes.span) { _ in }
            case .pictureLossIndication, .publisherReport, .unknown: break
            }
        }
        return seen
    }

    private func everything() -> [UInt8] {
        write {
            $0.senderReport(
                SenderInformation(ssrc: 1, ntpTimestamp: 2, rtpTimestamp: 3, packetCount: 4, octetCount: 5))
            _ = $0.append(Self.block)
            $0.sourceDescription(ssrc: 1, cname: Array("name".utf8).span)
            $0.publisherReport(ssrc: 1, PublisherReport(isVideoCut: true, wanted: .kilobits(9)))
            _ = $0.negativeAcknowledgement(senderSSRC: 1, mediaSSRC: 2, lost: [5, 6, 40])
            $0.fullIntraRequest(senderSSRC: 1, mediaSSRC: 2, sequenceNumber: 3)
            $0.receiverEstimatedBitrate(senderSSRC: 1, bitrate: .kilobits(9), ssrcs: ([7] as [UInt32]).span)
            $0.pauseResume(
                senderSSRC: 1, PauseResume.Message(ssrc: 2, kind: .paused(lastSequenceNumber: 3), pauseID: 4))
            $0.receiverReferenceTime(ssrc: 1, ntpTimestamp: 6)
            $0.delaySinceLastReport(ssrc: 1, ExtendedReport.DelaySinceReport(ssrc: 1, lastReport: 2, delay: 3))
            var recorder = TransportFeedbackRecorder()
            for number: UInt16 in [1, 2, 5, 9] {
                recorder.received(number, at: Instant(nanoseconds: Int64(number) * 90_000_000))
            }
            #expect(
                recorder.poll(into: &$0, senderSSRC: 1, mediaSSRC: 2, at: Instant(nanoseconds: 2_000_000_000)) == true)
            $0.goodbye(ssrc: 1)
        }
    }

    @Test("a compound cut at any length yields only complete packets without a trap")
    func truncation() {
        let bytes = everything()
        #expect(exhaust(bytes) == 11)
        for size in 0..<bytes.count { #expect(exhaust(Array(bytes[..<size])) < 11) }
    }

    @Test("random changes never trap")
    func mutations() {
        let bytes = everything()
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                changed[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            #expect(exhaust(changed) <= bytes.count / 4)
        }
    }
}
