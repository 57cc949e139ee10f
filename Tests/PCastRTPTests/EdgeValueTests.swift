import PCastCore
import Testing

@testable import PCastRTP

/// Fields of packets with extreme values.
@Suite("Extreme values of fields") struct EdgeValueTests {
    private func packets(_ bytes: [UInt8]) -> [RTCPPacket] {
        var reader = RTCPReader()
        var packets: [RTCPPacket] = []
        while let packet = reader.next(in: bytes.span) { packets.append(packet) }
        return packets
    }

    private func header(_ packet: [UInt8]) -> RTPHeader? { RTPHeader.parse(packet.span) }

    private func redundant(_ bytes: [UInt8]) -> RedundantPayload? {
        RedundantPayload(bytes.span, payload: bytes.indices)
    }

    private func words(_ words: UInt32...) -> [UInt8] {
        words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    @Test("REMB with exponent 63 and the full mantissa is effectively unlimited") func largestEstimate() throws {
        let bytes = words(0x8FCE_0005, 1, 0, 0x5245_4D42, 0x01FF_FFFF, 2)
        guard case .receiverEstimatedBitrate(let estimate)? = packets(bytes).first else {
            Issue.record("the packet is not REMB")
            return
        }
        #expect(estimate.bitrate == Bitrate(bitsPerSecond: .max))
    }

    @Test("sender reports at the beginning and the end of NTP's time are parsed", arguments: [0, UInt64.max])
    func reportTimes(time: UInt64) throws {
        let half = UInt32(truncatingIfNeeded: time)
        guard
            case .senderReport(let information, _)? = packets(words(0x80C8_0006, 1, half, half, half, half, half)).first
        else {
            Issue.record("there is no sender report")
            return
        }
        #expect(information.ntpTimestamp == time && information.packetCount == half)
        let wallTime = WallTime(ntpTimestamp: time)
        #expect(
            wallTime.millisecondsSinceEpoch < 2_100_000_000_000 && wallTime.millisecondsSinceEpoch > -2_300_000_000_000)
    }

    @Test("transport-wide feedback about 65,535 packets without a chunk reports none") func emptyFeedback() {
        let bytes = words(0x8FCD_0004, 1, 2, 0x0000_FFFF, 0)
        for case .transportFeedback(let feedback) in packets(bytes) {
            var reader = TransportFeedback.Reader(feedback)
            var count = 0
            while reader.next(in: bytes.span) != nil { count += 1 }
            #expect(count == 0)
        }
    }

    @Test("a redundant block of 1,023 missing bytes is no audio packet") func longestBlock() {
        for bytes in [[0xEF, 0xFF, 0xFF, 0xFF, 111], [0xEF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
            let isNone = redundant(bytes) == nil
            #expect(isNone)
        }
        let whole = [0xEF, 0xFF, 0xFF, 0xFF, 111] + [UInt8](repeating: 0xF8, count: 1_024)
        let payload = redundant(whole)
        let length = payload?.redundant(0, in: whole.span).range.count
        #expect(payload?.redundantCount == 1 && length == 1_023)
    }

    @Test("the latest capture time and the largest offset are parsed, and written unchanged") func captureTime() throws
    {
        var map = RTPHeaderExtensionMap()
        map[3] = .absoluteCaptureTime
        let element = [UInt8(3 << 4 | 15)] + [UInt8](repeating: 0xFF, count: 16) + [0, 0, 0]
        let packet = [0x90, 96, 0, 1] + words(1, 2) + [0xBE, 0xDE, 0, 5] + element + [1]
        let read = try #require(header(packet))
        let values = RTPExtensionValues.forwarded(read.extensions, in: packet.span, by: map)
        #expect(values.absoluteCaptureTime == AbsoluteCaptureTime(ntpTimestamp: .max, clockOffset: -1))
    }

    @Test("255 bytes of padding are invalid in a shorter packet, and the whole of an equally long one")
    func padding() throws {
        let fixed = [0xA0, 96, 0, 1] + words(1, 2)
        #expect(header(fixed + [0x10, 255]) == nil)
        let padded = fixed + [UInt8](repeating: 0, count: 254) + [255]
        let read = try #require(header(padded))
        #expect(read.paddingSize == 255 && read.payloadRange(packetSize: padded.count).isEmpty)
        #expect(header(Array(padded.dropFirst())) == nil)
    }

    @Test("fifteen contributing sources do not fit into twelve bytes") func contributingSources() {
        let fixed = [0x8F, 96, 0, 1] + words(1, 2)
        let protected = RTPHeader.parseProtected(fixed.span)
        #expect(header(fixed) == nil && protected == nil)
        #expect(header(fixed + [UInt8](repeating: 0, count: 60))?.headerSize == 72)
    }
}
