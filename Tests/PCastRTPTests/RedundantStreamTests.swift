import PCastCore
import PCastRTP
import Testing

@Suite("An audio stream with redundancy")
struct RedundantStreamTests {
    private func log(_ sequences: [Int64], timestamp: (Int64) -> Int64 = { $0 * 960 }, size: Int = 40) -> PacketLog {
        var log = PacketLog(capacity: 16)
        for sequence in sequences {
            let payload = [0xF8] + [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: size - 1)
            _ = payload.withByteView {
                log.append(
                    PacketLog.Entry(
                        sequence: sequence, timestamp: UInt32(truncatingIfNeeded: timestamp(sequence)), marker: false,
                        startsKeyFrame: false, arrival: .at(0)), payload: $0)
            }
        }
        return log
    }

    private func stream(redundancy: Int, takes: Bool = true) -> OutboundStream {
        var stream = OutboundStream(
            .init(
                ssrc: 1, payloadType: 111, retransmission: .init(ssrc: 2, payloadType: 112), mid: nil,
                extensions: RTPHeaderExtensionMap(), clockRate: .opus, redundantPayloadType: takes ? 63 : nil),
            firstSequenceNumber: 500, retransmissionSequenceNumber: 40)
        stream.redundancy = redundancy
        return stream
    }

    /// Returns all complete packets in the order of sending.
    private func drain(_ stream: inout OutboundStream, _ log: borrowing PacketLog) -> [[UInt8]] {
        var counter: UInt16 = 0
        var sent: [[UInt8]] = []
        var room = [UInt8](repeating: 0, count: 1500)
        while true {
            let packet = room.withMutableByteView {
                stream.next(
                    in: log, at: .at(0), sendTime: AbsoluteSendTime(.at(0)), transportSequenceNumber: &counter,
                    into: $0)
            }
            guard let packet else { return sent }
            sent.append(
                Array(room[..<(packet.headerSize + packet.prefixSize)]) + Array(log.payload(at: packet.position)))
        }
    }

    /// Returns the payload type, the primary data's sequence (its fill), and the offset and sequence of each redundant
    /// block, the newest first.
    private func read(_ packet: [UInt8]) throws -> (payloadType: UInt8, own: UInt8, repeated: [[UInt32]]) {
        let parsed = RTPHeader.parse(packet.span)
        let header = try #require(parsed)
        let range = header.payloadRange(packetSize: packet.count)
        guard header.payloadType == 63 else { return (header.payloadType, packet[range.lowerBound + 1], []) }
        let read = RedundantPayload(packet.span, payload: range)
        let payload = try #require(read)
        #expect(payload.primary.payloadType == 111)
        let repeated = (0..<payload.redundantCount).map { index -> [UInt32] in
            let block = payload.redundant(index, in: packet.span)
            #expect(block.payloadType == 111 && packet[block.range.lowerBound] == 0xF8)
            return [UInt32(packet[block.range.lowerBound + 1]), block.timestampOffset]
        }
        return (63, packet[payload.primary.range.lowerBound + 1], repeated)
    }

    @Test("each packet repeats the given number of previous ones")
    func repeats() throws {
        let log = log([10, 11, 12, 13])
        var stream = stream(redundancy: 2)
        stream.begin(at: 0, in: log)
        let sent = try drain(&stream, log).map(read)
        #expect(sent.map(\.payloadType) == [111, 63, 63, 63])
        #expect(sent.map(\.own) == [10, 11, 12, 13])
        #expect(sent.map(\.repeated) == [[], [[10, 960]], [[11, 960], [10, 1920]], [[12, 960], [11, 1920]]])
    }

    @Test("there is no redundancy for a peer without support, or without loss")
    func none() throws {
        let log = log([10, 11, 12])
        for (redundancy, takes) in [(2, false), (0, true)] {
            var stream = stream(redundancy: redundancy, takes: takes)
            stream.begin(at: 0, in: log)
            #expect(try drain(&stream, log).map { try read($0).payloadType } == [111, 111, 111])
        }
    }

    @Test("redundancy never reaches beyond a gap, too far back in time, or beyond the packet's size")
    func bounds() throws {
        let hole = log([10, 12, 13])
        var first = stream(redundancy: 2)
        first.begin(at: 0, in: hole)
        #expect(try drain(&first, hole).map { try read($0).repeated.count } == [0, 0, 1])

        let silence = log([10, 11], timestamp: { $0 == 10 ? 0 : 16_384 })
        var second = stream(redundancy: 2)
        second.begin(at: 0, in: silence)
        #expect(try drain(&second, silence).map { try read($0).repeated.count } == [0, 0])

        let large = log([10, 11, 12], size: 500)
        var third = stream(redundancy: 2)
        third.begin(at: 0, in: large)
        let sent = drain(&third, large)
        #expect(try sent.map { try read($0).repeated.count } == [0, 1, 1])
        #expect(sent.allSatisfy { $0.count <= 12 + PayloadPacketizer.defaultMaximumPayloadSize })
    }

    @Test("a late packet has no redundancy, and a retransmission is the packet alone")
    func lateAndAgain() throws {
        let log = log([10, 12, 11])
        var stream = stream(redundancy: 2)
        stream.begin(at: 0, in: log)
        let sent = try drain(&stream, log).map(read)
        #expect(sent.map(\.payloadType) == [111, 111, 111])
        stream.requestRetransmission(of: 502, in: log, roundTrip: .zero, at: .at(100))
        let again = drain(&stream, log)
        let packet = try #require(again.first)
        let parsed = RTPHeader.parse(packet.span)
        let header = try #require(parsed)
        #expect(again.count == 1 && header.payloadType == 112)
        #expect(Array(again[0][12..<16]) == [500 >> 8, 502 & 0xFF, 0xF8, 12])
    }
}
