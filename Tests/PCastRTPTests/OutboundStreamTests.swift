import PCastCore
import PCastRTP
import Testing

@Suite struct OutboundStreamTests {
    /// A packet as the peer receives it.
    private struct Sent: Equatable {
        var ssrc: UInt32 = 1000
        var payloadType: UInt8 = 96
        var sequenceNumber: UInt16
        var timestamp: UInt32
        /// The sequence number of the packet that a retransmission repeats.
        var original: UInt16?
        var position: Int64
    }

    private static func parameters(retransmission: Bool = true) -> OutboundStream.Parameters {
        var extensions = RTPHeaderExtensionMap()
        extensions[3] = .transportSequenceNumber
        extensions[5] = .mid
        return OutboundStream.Parameters(
            ssrc: 1000, payloadType: 96,
            retransmission: retransmission ? .init(ssrc: 1001, payloadType: 97) : nil,
            mid: RTPStreamIdentifier("0"), extensions: extensions, clockRate: .video)
    }

    private func stream(first: UInt16 = 500, retransmission: Bool = true) -> OutboundStream {
        OutboundStream(
            Self.parameters(retransmission: retransmission), firstSequenceNumber: first,
            retransmissionSequenceNumber: 40)
    }

    private func append(_ sequences: [Int64], to log: inout PacketLog, at arrival: Instant = .at(0)) {
        for sequence in sequences {
            log.append(
                PacketLog.Entry(
                    sequence: sequence, timestamp: UInt32(truncatingIfNeeded: sequence * 3000), marker: true,
                    startsKeyFrame: false, arrival: arrival), payload: [1, 2])
        }
    }

    private func drain(
        _ stream: inout OutboundStream, _ log: borrowing PacketLog, at now: Instant = .at(0)
    ) -> [Sent] {
        var counter: UInt16 = 0
        var sent: [Sent] = []
        var room = [UInt8](repeating: 0, count: 256)
        while true {
            let packet = room.withMutableByteView {
                stream.next(
                    in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counter, into: $0)
            }
            guard let packet, let header = RTPHeader.parse(room) else { return sent }
            let size = packet.headerSize
            sent.append(
                Sent(
                    ssrc: header.ssrc, payloadType: header.payloadType, sequenceNumber: header.sequenceNumber,
                    timestamp: header.timestamp,
                    original: packet.isRetransmission ? UInt16(room[size]) << 8 | UInt16(room[size + 1]) : nil,
                    position: packet.position))
            #expect(header.headerSize == size)
            #expect(counter == UInt16(sent.count))
        }
    }

    @Test("the peer's sequence numbers continue from its first, whatever the source's are")
    func sequenceNumbersStartIndependently() {
        var log = PacketLog(capacity: 16)
        append([65_535, 65_536, 65_538, 65_537], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        let sent = drain(&stream, log)
        #expect(sent.map(\.sequenceNumber) == [500, 501, 503, 502])
        #expect(sent.map(\.timestamp) == [65_535, 65_536, 65_538, 65_537].map { UInt32($0) * 3000 })
        #expect(stream.packetsSent == 4 && stream.octetsSent == 8)
        #expect(stream.hasPackets(in: log) == false)
    }

    @Test("a second start continues the numbers, and a jump of timestamps becomes the time between arrivals")
    func secondStartContinues() {
        var log = PacketLog(capacity: 16)
        append([10, 11], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        append([900, 901], to: &log, at: .at(100))
        stream.begin(at: 2, in: log)
        let sent = drain(&stream, log)
        #expect(sent.map(\.sequenceNumber) == [502, 503])
        #expect(sent.map(\.timestamp) == [42_000, 45_000])
        #expect(stream.timestamp(of: 902 * 3000) == 48_000)
    }

    @Test("after a pause timestamps continue by the source's clock and always increase")
    func timestampsAfterPause() {
        var log = PacketLog(capacity: 16)
        append([10, 11, 20, 21], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        append([30], to: &log)
        stream.begin(at: 4, in: log)
        #expect(drain(&stream, log).map(\.timestamp) == [90_000])
        append([9000], to: &log)
        stream.begin(at: 5, in: log)
        #expect(drain(&stream, log).map(\.timestamp) == [90_001])
    }

    @Test("packets that overtook the first one are sent too, and older ones are not")
    func overtaking() {
        var log = PacketLog(capacity: 16)
        append([3, 5, 6, 2, 4, 7], to: &log)
        var stream = stream()
        stream.begin(at: 4, in: log)
        #expect(drain(&stream, log).map(\.sequenceNumber) == [501, 502, 500, 503])
    }

    @Test("a late packet from before the start is not sent")
    func latePacketBeforeStart() {
        var log = PacketLog(capacity: 16)
        append([20, 22], to: &log)
        var stream = stream()
        stream.begin(at: 1, in: log)
        append([21, 19, 23], to: &log)
        let sent = drain(&stream, log)
        #expect(sent.map(\.sequenceNumber) == [500, 501])
        #expect(sent.map(\.position) == [1, 4])
    }

    @Test("sequence numbers begin below 2^15 and pass 2^16")
    func sequenceNumbersStartBelowHalf() {
        var log = PacketLog(capacity: 65_536)
        append(Array(0..<32_770), to: &log)
        var stream = stream(first: 32_767)
        stream.begin(at: 0, in: log)
        let sent = drain(&stream, log)
        #expect(sent.first?.sequenceNumber == 32_767)
        #expect(sent.suffix(2).map(\.sequenceNumber) == [65_535, 0])
    }

    @Test("a first sequence number of 2^15 or more violates the contract")
    func firstSequenceNumberPrecondition() async {
        await #expect(processExitsWith: .failure) {
            _ = OutboundStream(
                OutboundStreamTests.parameters(), firstSequenceNumber: 32_768, retransmissionSequenceNumber: 0)
        }
    }

    @Test("a retransmission has its own SSRC, type and numbers, and begins with the original's number")
    func retransmissionFormat() {
        var log = PacketLog(capacity: 16)
        append([7, 8, 9], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        stream.requestRetransmission(of: 501, in: log, roundTrip: .zero, at: .at(20))
        #expect(stream.hasPackets(in: log) == true)
        let sent = drain(&stream, log, at: .at(20))
        #expect(
            sent == [
                Sent(
                    ssrc: 1001, payloadType: 97, sequenceNumber: 40, timestamp: 8 * 3000, original: 501, position: 1)
            ])
        #expect(stream.packetsRetransmitted == 1 && stream.packetsSent == 3)
    }

    @Test("a packet is retransmitted once per round trip, twice if it was lost twice, and not just after it was sent")
    func oneRetransmissionPerRoundTrip() {
        var log = PacketLog(capacity: 16)
        append([7], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        var times: [Int64] = []
        for time in 0..<160 as Range<Int64> {
            stream.requestRetransmission(of: 500, in: log, roundTrip: .milliseconds(50), at: .at(time))
            if !drain(&stream, log, at: .at(time)).isEmpty { times.append(time) }
        }
        #expect(times == [25, 69, 89, 113, 133, 157])
    }

    @Test("requests for packets never sent or no longer in the log are counted and not answered")
    func missed() {
        var log = PacketLog(capacity: 4)
        append([0, 1, 2, 3], to: &log)
        var stream = stream()
        stream.requestRetransmission(of: 500, in: log, roundTrip: .zero, at: .at(100))
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        append([4], to: &log)
        for number in [499, 500, 504, 40_000] as [UInt16] {
            stream.requestRetransmission(of: number, in: log, roundTrip: .zero, at: .at(100))
        }
        #expect(stream.retransmissionsMissed == 4)
        #expect(drain(&stream, log).map(\.sequenceNumber) == [504])
    }

    @Test("requests from before a restart are dropped, because their number is another packet now")
    func restartForgets() {
        var log = PacketLog(capacity: 16)
        append([7, 8], to: &log)
        var stream = stream()
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        stream.requestRetransmission(of: 500, in: log, roundTrip: .zero, at: .at(100))
        append([9], to: &log)
        stream.pause()
        stream.begin(at: 2, in: log)
        #expect(stream.hasResends == false)
        stream.requestRetransmission(of: 501, in: log, roundTrip: .zero, at: .at(100))
        #expect(drain(&stream, log, at: .at(100)).map(\.sequenceNumber) == [502])
    }

    @Test("without a retransmission stream no packet is retransmitted")
    func noRetransmissionStream() {
        var log = PacketLog(capacity: 16)
        append([7, 8], to: &log)
        var stream = stream(retransmission: false)
        stream.begin(at: 0, in: log)
        _ = drain(&stream, log)
        stream.requestRetransmission(of: 500, in: log, roundTrip: .zero, at: .at(100))
        #expect(stream.hasResends == false)
    }

    @Test("a stream that begins at the end of the log sends later packets only")
    func startAtEndOfLog() {
        var log = PacketLog(capacity: 16)
        append([7, 8], to: &log)
        var stream = stream()
        stream.beginAtEnd(of: log)
        #expect(stream.hasPackets(in: log) == false)
        #expect(drain(&stream, log) == [])
        append([9, 8, 10], to: &log)
        #expect(drain(&stream, log).map(\.sequenceNumber) == [500, 501])
    }

    @Test("a stream whose next packet the log has overwritten has fallen behind")
    func overtakenByLog() {
        var log = PacketLog(capacity: 4)
        append([0], to: &log)
        var stream = stream()
        #expect(stream.isBehindLog(log) == false)
        stream.begin(at: 0, in: log)
        append([1, 2, 3], to: &log)
        #expect(stream.isBehindLog(log) == false)
        append([4], to: &log)
        #expect(stream.isBehindLog(log) == true)
        stream.pause()
        #expect(stream.isBehindLog(log) == false)
        #expect(stream.hasPackets(in: log) == false)
        #expect(drain(&stream, log) == [])
    }
}
