import PCastCore
import Testing

@testable import PCastRTP

/// Packets that are sent to one peer in one system call have equal sizes, of which only the last may be shorter.
@Suite struct EvenSizeTests {
    private func stream(evens: Bool = true) -> OutboundStream {
        var map = RTPHeaderExtensionMap()
        map[3] = .transportSequenceNumber
        map[4] = .absoluteSendTime
        map[5] = .playoutDelay
        return OutboundStream(
            OutboundStream.Parameters(
                ssrc: 1, payloadType: 96, retransmission: nil, mid: nil, extensions: map, clockRate: .video,
                evensSizes: evens),
            firstSequenceNumber: 500, retransmissionSequenceNumber: 40)
    }

    /// Returns the sizes of the unencrypted packets that would be sent.
    private func sizes(_ payloads: [[Int]], evens: Bool = true, _ change: (inout OutboundStream) -> Void = { _ in })
        -> [Int]
    {
        var log = PacketLog(capacity: 64)
        var sequence: Int64 = 0
        for (frame, payloads) in payloads.enumerated() {
            for (index, payload) in payloads.enumerated() {
                log.append(
                    PacketLog.Entry(
                        sequence: sequence, timestamp: UInt32(frame) * 3000, marker: index == payloads.count - 1,
                        startsKeyFrame: frame == 0, arrival: Instant(nanoseconds: 0)),
                    payload: ByteView(log.bufferForNext().extracting(..<payload)))
                sequence += 1
            }
        }
        var stream = stream(evens: evens)
        change(&stream)
        stream.begin(at: 0, in: log)
        let memory = ByteStorage(byteCount: 2048)
        let room = memory.bytes
        var (counter, sizes): (UInt16, [Int]) = (0, [])
        while let packet = stream.next(
            in: log, at: Instant(nanoseconds: 0), sendTime: AbsoluteSendTime(Instant(nanoseconds: 0)),
            transportSequenceNumber: &counter, into: room)
        {
            #expect((room[0] & 0x20 != 0) == (packet.paddingSize > 0))
            sizes.append(packet.headerSize + log[packet.position].length + packet.paddingSize)
        }
        return sizes
    }

    private let header = 12 + 4 + 8

    @Test("the earlier packets of a frame are padded to the size of its later ones")
    func earlier() {
        #expect(sizes([[1100, 1100, 1101, 1101]]).map { $0 - header } == [1101, 1101, 1101, 1101])
        #expect(sizes([[1100, 1101, 1100, 1101]]).map { $0 - header } == [1101, 1101, 1101, 1101])
    }

    @Test("the last packet may be shorter, and much shorter packets are not padded")
    func last() {
        #expect(sizes([[1101, 1101, 1095]]).map { $0 - header } == [1101, 1101, 1095])
        #expect(sizes([[1101, 1095, 1101, 400]]).map { $0 - header } == [1101, 1101, 1101, 400])
        #expect(sizes([[30, 1100, 1101]]).map { $0 - header } == [30, 1101, 1101])
    }

    @Test("different frames are not padded to one size, and nothing is padded unless it is wanted")
    func apart() {
        #expect(sizes([[1100], [1101]]).map { $0 - header } == [1100, 1101])
        #expect(sizes([[700, 701], [800, 801, 801]]).map { $0 - header } == [701, 701, 801, 801, 801])
        #expect(sizes([[1100, 1101]], evens: false).map { $0 - header } == [1100, 1101])
    }

    @Test("the packets of a frame have one size, also if only some of them have the playout delay")
    func delays() {
        let delay = PlayoutDelay(minimum: .zero, maximum: .milliseconds(300))
        let all = sizes([[700, 700, 700], [700, 1160, 1160], [700]]) { $0.playoutDelay = delay }
        // Packets with space have the delay too, and large ones do not.
        #expect(all.map { $0 - header } == [704, 704, 704, 704, 1160, 1160, 704])
    }

    @Test("a header from the template equals one that is written completely")
    func bytes() {
        var log = PacketLog(capacity: 64)
        for (index, size) in [700, 700, 1160, 1160, 700, 30].enumerated() {
            log.append(
                PacketLog.Entry(
                    sequence: Int64(index), timestamp: UInt32(index / 2) * 3000, marker: index % 2 == 1,
                    startsKeyFrame: index == 0, arrival: Instant(nanoseconds: 0)),
                payload: ByteView(log.bufferForNext().extracting(..<size)))
        }
        var quick = stream()
        var whole = stream()
        let memory = ByteStorage(byteCount: 2 * 2048)
        let rooms = [memory.bytes.extracting(..<2048), memory.bytes.extracting(2048...)]
        var counters: (quick: UInt16, whole: UInt16) = (65_533, 65_533)
        let some = PlayoutDelay(minimum: .zero, maximum: .milliseconds(300))
        for (index, delay) in [nil, some, nil, some, some, nil].enumerated() {
            let now = Instant(nanoseconds: Int64(index) * 1_000_000)
            if index == 0 {
                quick.begin(at: 0, in: log)
                whole.begin(at: 0, in: log)
            }
            (quick.playoutDelay, whole.playoutDelay) = (delay, delay)
            whole.template = HeaderTemplate()
            let packet = quick.next(
                in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counters.quick,
                into: rooms[0])
            let other = whole.next(
                in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counters.whole,
                into: rooms[1])
            #expect(packet?.headerSize == other?.headerSize && packet?.paddingSize == other?.paddingSize)
            let size = packet?.headerSize ?? 0
            #expect(size > 12 && rooms[0][..<size].elementsEqual(rooms[1][..<size]), "packet \(index)")
            #expect(counters.quick == counters.whole)
        }
    }
}
