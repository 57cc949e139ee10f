import PCastCore
import PCastRTP

/// RTCP datagrams that are read completely, with their effects.
enum RTCPTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var reader = RTCPReader()
        var packets = 0
        var budget = NegativeAcknowledgement.maximumCountPerDatagram
        var isKnown = false
        while let packet = reader.next(in: bytes.span) {
            packets += 1
            try check(packets * 4 <= bytes.count, "\(packets) packets in \(bytes.count) bytes")
            if case .unknown = packet { continue }
            isKnown = true
            try read(packet, in: bytes, &budget)
        }
        try check(!reader.isMalformed || reader.next(in: bytes.span) == nil, "a walk that continues behind its end")
        return isKnown
    }

    private static func read(
        _ packet: RTCPPacket, in bytes: [UInt8], _ budget: inout Int
    ) throws(BrokenInvariant) {
        switch packet {
        case .senderReport(let information, let blocks):
            try roundTrip(information, blocks, in: bytes)
        case .receiverReport(_, let blocks):
            try read(blocks, in: bytes)
        case .goodbye(let goodbye):
            for index in 0..<goodbye.count { _ = goodbye.ssrc(index, in: bytes.span) }
        case .negativeAcknowledgement(let lost):
            let before = budget
            var count = 0
            lost.forEach(in: bytes.span, budget: &budget) { _ in count += 1 }
            try check(budget >= 0 && count == before - budget, "\(count) numbers of a budget of \(before)")
        case .fullIntraRequest(let request):
            for index in 0..<request.count { _ = request.entry(index, in: bytes.span) }
        case .receiverEstimatedBitrate(let estimate):
            for index in 0..<estimate.count { _ = estimate.ssrc(index, in: bytes.span) }
        case .transportFeedback(let feedback): try read(feedback, in: bytes)
        case .pauseResume(let packet): try read(packet, in: bytes)
        case .extendedReport(let report):
            var trip = RoundTripTime()
            _ = report.receiverReferenceTime(in: bytes.span)
            report.forEachDelay(in: bytes.span) { delay in
                _ = trip.update(from: delay, at: WallTime(ntpTimestamp: UInt64(delay.lastReport) << 16))
            }
            try check((trip.smoothed ?? .zero) >= .zero, "a round trip of negative length")
        case .pictureLossIndication, .publisherReport, .unknown: break
        }
    }

    private static func read(_ blocks: ReportBlocks, in bytes: [UInt8]) throws(BrokenInvariant) {
        var trip = RoundTripTime()
        for index in 0..<blocks.count {
            let block = blocks.block(index, in: bytes.span)
            try check(blocks.block(about: block.ssrc, in: bytes.span) != nil, "a block that is not found")
            _ = trip.update(from: block, at: WallTime(millisecondsSinceEpoch: 1_700_000_000_000))
        }
        try check((trip.smoothed ?? .zero) >= .zero, "a round trip of negative length")
    }

    private static func roundTrip(
        _ information: SenderInformation, _ blocks: ReportBlocks, in bytes: [UInt8]
    ) throws(BrokenInvariant) {
        try read(blocks, in: bytes)
        let written = [UInt8](unsafeUninitializedCapacity: 1500) { buffer, count in
            var writer = RTCPWriter(MutableByteView(buffer))
            writer.senderReport(information)
            for index in 0..<blocks.count { _ = writer.append(blocks.block(index, in: bytes.span)) }
            count = writer.count
        }
        var reader = RTCPReader()
        guard case .senderReport(let again, let sameBlocks)? = reader.next(in: written.span) else {
            throw BrokenInvariant(description: "a written report that does not read back")
        }
        try check(again == information && sameBlocks.count == blocks.count, "a report that changed")
        for index in 0..<blocks.count {
            let (before, after) = (blocks.block(index, in: bytes.span), sameBlocks.block(index, in: written.span))
            try check(before == after, "a report block that changed")
        }
    }

    private static func read(_ feedback: TransportFeedback, in bytes: [UInt8]) throws(BrokenInvariant) {
        var reader = TransportFeedback.Reader(feedback)
        var count = 0
        while let status = reader.next(in: bytes.span) {
            let expected = feedback.baseSequenceNumber &+ UInt16(truncatingIfNeeded: count)
            try check(status.sequenceNumber == expected, "a packet out of order")
            count += 1
        }
        try check(count == feedback.packetCount, "\(count) packets of \(feedback.packetCount)")
        var unwrapper = ReferenceTimeUnwrapper()
        _ = unwrapper.unwrap(feedback.referenceTime)
    }

    private static func read(_ packet: PauseResume, in bytes: [UInt8]) throws(BrokenInvariant) {
        var reader = PauseResume.Reader(packet)
        var count = 0
        while let message = reader.next(in: bytes.span) {
            count += 1
            try check(count * 8 <= bytes.count, "\(count) messages in \(bytes.count) bytes")
            let written = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
                var writer = RTCPWriter(MutableByteView(buffer))
                writer.pauseResume(senderSSRC: packet.senderSSRC, message)
                count = writer.count
            }
            var again = RTCPReader()
            guard case .pauseResume(let same)? = again.next(in: written.span) else {
                throw BrokenInvariant(description: "a written message that does not read back")
            }
            var messages = PauseResume.Reader(same)
            try check(
                same.senderSSRC == packet.senderSSRC && messages.next(in: written.span) == message,
                "a message that changed")
        }
    }

    static let corpus: [[UInt8]] = [
        // Extreme values: exponent and mantissa of REMB, and the beginning and end of NTP time.
        hexadecimal("8fce0005 00000001 00000000 52454d42 01ffffff 00000002"),
        hexadecimal("80c80006 00000001 00000000 00000000 00000000 00000000 00000000"),
        hexadecimal("80c80006 00000001 ffffffff ffffffff ffffffff ffffffff ffffffff"),
        // A sender report with one block, and a name.
        hexadecimal(
            """
            81c8000c 00000001 e0000000 80000000 00001000 00000010 00001000
            00000002 0a000005 00010203 00000010 00008000 00010000 81ca0003 00000001 0104 61626364 0000
            """),
        // A receiver report, a NACK with its mask, a PLI and a FIR.
        hexadecimal(
            """
            81c90007 00000001 00000002 ffffffff 0001ffff 00000001 12345678 00000001
            81cd0003 00000001 00000002 fffe8001 81ce0002 00000001 00000002
            84ce0004 00000001 00000000 00000002 07000000
            """),
        // REMB, and a BYE with a reason.
        hexadecimal("8fce0005 00000001 00000000 52454d42 010bffff 00000002 81cb0002 00000001 03627965"),
        // Transport-wide feedback: a padded one with a run and a one-bit vector, and one with a two-bit vector.
        hexadecimal("afcd0007 00000001 00000002 fffe0010 00000105 2004b000 01020304 05060002"),
        hexadecimal("8fcd0006 00000001 00000002 00010007 fffffe00 e490ff38 05010206"),
        // Pause messages: both requests, an indication with additional data, a refusal, a reserved type, and a
        // truncated one.
        hexadecimal(
            """
            89cd0011 00000001 00000000 00000002 00000007 00000003 1000ffff 00000002 20020007 0001fffe deadbeef
            00000003 30000000 00000002 e0010000 00000000 00000002 20050001
            """),
        // Extended reports: receiver reference time and delays.
        hexadecimal("80cf0009 00000001 04000002 e0000000 80000000 05000003 00000002 12345678 00010000 00000000"),
    ]
}
