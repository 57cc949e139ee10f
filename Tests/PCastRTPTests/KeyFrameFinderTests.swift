import PCastCore
import Testing

@testable import PCastRTP

/// The key frames in a track's log, whatever way the parameter sets are sent.
@Suite struct KeyFrameFinderTests {
    /// A track, and a viewer that begins at its newest key frame.
    private struct Track: ~Copyable {
        var log = PacketLog(capacity: 512)
        var finder: KeyFrameFinder
        var now = Instant.at(0)
        var found: [Int64] = []

        init(_ parameterSets: [[UInt8]] = [], aggregates: Bool = true) {
            finder = KeyFrameFinder(parameterSets: parameterSets, aggregates: aggregates)
        }

        /// Appends a packet. Returns whether it identifies a key frame.
        @discardableResult
        mutating func append(
            _ sequence: Int64, _ payload: [UInt8], frame: UInt32, marker: Bool = false, codec: Codec = .h264
        ) -> Bool {
            log.append(
                PacketLog.Entry(
                    sequence: sequence, timestamp: frame * 3000, marker: marker, startsKeyFrame: false, arrival: now),
                payload: payload)
            guard let keyFrame = finder.appended(codec, to: &log) else { return false }
            found.append(log[keyFrame.position].sequence)
            return true
        }

        /// Returns the packets that a viewer receives from the newest key frame on, by its sequence numbers.
        mutating func viewed() -> [(number: UInt16, timestamp: UInt32, payload: [UInt8])] {
            var stream = OutboundStream(
                OutboundStream.Parameters(
                    ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97), mid: nil,
                    extensions: RTPHeaderExtensionMap(), clockRate: .video),
                firstSequenceNumber: 500, retransmissionSequenceNumber: 0)
            guard let keyFrame = log.newestKeyFrame else { return [] }
            stream.begin(at: keyFrame, in: log)
            return drain(&stream).sorted { $0.number < $1.number }
        }

        mutating func drain(_ stream: inout OutboundStream) -> [(number: UInt16, timestamp: UInt32, payload: [UInt8])] {
            var counter: UInt16 = 0
            var sent: [(UInt16, UInt32, [UInt8])] = []
            var room = [UInt8](repeating: 0, count: 256)
            while true {
                let packet = room.withMutableByteView {
                    stream.next(
                        in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counter, into: $0)
                }
                guard let packet, let header = RTPHeader.parse(room) else { return sent }
                let number =
                    packet.isRetransmission
                    ? UInt16(room[packet.headerSize]) << 8 | UInt16(room[packet.headerSize + 1])
                    : header.sequenceNumber
                sent.append((number, header.timestamp, Array(log.payload(at: packet.position))))
            }
        }
    }

    private static let sps = H264Fixtures.sequenceParameterSet
    private static let pps = H264Fixtures.pictureParameterSet
    /// A sequence parameter set with the ID 1, and a picture parameter set 1 that refers to it.
    private static let otherSPS: [UInt8] = [0x67, 0x42, 0xC0, 0x1F, 0x5B, 0x02, 0x80]
    private static let otherPPS: [UInt8] = [0x68, 0x4B, 0x83]
    /// Returns an IDR slice whose picture parameter set has the ID 0 or 1.
    private static func idr(_ set: Int = 0) -> [UInt8] { [0x65, 0x88, set == 0 ? 0x84 : 0x44, 1, 2, 3] }
    private static let delta: [UInt8] = [0x41, 0x9A, 1, 2, 3]
    private static func stap(_ units: [UInt8]...) -> [UInt8] {
        units.reduce([0x78]) { $0 + [0, UInt8($1.count)] + $1 }
    }
    private static func fragments(_ unit: [UInt8], _ count: Int) -> [[UInt8]] {
        let body = Array(unit.dropFirst())
        let size = (body.count + count - 1) / count
        return (0..<count).map { index in
            let flags: UInt8 = (index == 0 ? 0x80 : 0) | (index == count - 1 ? 0x40 : 0)
            return [unit[0] & 0xE0 | 28, flags | unit[0] & 31] + body.dropFirst(index * size).prefix(size)
        }
    }

    @Test("a key frame begins with the first packet of its timestamp, of any type")
    func beginsWithTheTimestamp() {
        let heads: [[[UInt8]]] = [
            [Self.stap(Self.sps, Self.pps)], [Self.sps, Self.pps], [[0x09, 0xF0], Self.sps, Self.pps],
            [Self.stap([0x09, 0xF0], Self.sps), Self.pps, [0x06, 5, 1, 0]], [[0x06, 5, 1, 0], Self.sps, Self.pps],
        ]
        for head in heads {
            var track = Track()
            track.append(9, Self.delta, frame: 1, marker: true)
            for (index, payload) in head.enumerated() { track.append(10 + Int64(index), payload, frame: 2) }
            #expect(track.found == [])
            #expect(track.append(10 + Int64(head.count), Self.idr(), frame: 2, marker: true) == true)
            #expect(track.found == [10])
            #expect(track.viewed().map(\.payload) == head + [Self.idr()])
            #expect(track.viewed().map(\.number) == (0...head.count).map { 500 + UInt16($0) })
        }
    }

    @Test("parameter sets before another frame are no key frame")
    func setsBeforeDelta() {
        var track = Track()
        for frame in 0..<20 as Range<UInt32> {
            track.append(Int64(frame) * 2, Self.stap(Self.sps, Self.pps), frame: frame)
            track.append(Int64(frame) * 2 + 1, Self.delta, frame: frame, marker: true)
        }
        #expect(track.found == [])
        #expect(track.log.newestKeyFrame == nil)
    }

    @Test("an IDR frame without parameter sets follows those that were sent once, with its own timestamp")
    func setsOnce() {
        var track = Track()
        track.append(0, Self.sps, frame: 0)
        track.append(1, Self.pps, frame: 0)
        track.append(2, Self.idr(), frame: 0, marker: true)
        for number in 3..<100 as Range<Int64> { track.append(number, Self.delta, frame: UInt32(number), marker: true) }
        #expect(track.append(100, Self.idr(), frame: 100, marker: true) == true)
        track.append(101, Self.delta, frame: 101, marker: true)
        let viewed = track.viewed()
        #expect(viewed.map(\.payload) == [Self.stap(Self.sps, Self.pps), Self.idr(), Self.delta])
        #expect(viewed.map(\.number) == [500, 501, 502])
        #expect(viewed.map(\.timestamp) == [300_000, 300_000, 303_000])
    }

    @Test("a current viewer does not receive the parameter sets for new viewers")
    func watchingViewer() {
        var track = Track()
        track.append(0, Self.stap(Self.sps, Self.pps), frame: 0)
        track.append(1, Self.idr(), frame: 0, marker: true)
        var stream = OutboundStream(
            OutboundStream.Parameters(
                ssrc: 1, payloadType: 96, retransmission: nil, mid: nil, extensions: RTPHeaderExtensionMap(),
                clockRate: .video), firstSequenceNumber: 7, retransmissionSequenceNumber: 0)
        stream.begin(at: 0, in: track.log)
        #expect(track.drain(&stream).map(\.number) == [7, 8])
        track.append(2, Self.idr(), frame: 2, marker: true)
        track.append(3, Self.delta, frame: 3, marker: true)
        let sent = track.drain(&stream)
        #expect(sent.map(\.number) == [9, 10])
        #expect(sent.map(\.payload) == [Self.idr(), Self.delta])
        #expect(stream.hasPackets(in: track.log) == false)
    }

    @Test("inserted parameter sets are retransmitted under their number, while the log has them")
    func retransmission() {
        var track = Track(Self.both)
        track.append(0, Self.delta, frame: 0, marker: true)
        track.append(1, Self.idr(), frame: 1, marker: true)
        var stream = OutboundStream(
            OutboundStream.Parameters(
                ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97), mid: nil,
                extensions: RTPHeaderExtensionMap(), clockRate: .video),
            firstSequenceNumber: 500, retransmissionSequenceNumber: 0)
        stream.begin(at: track.log.newestKeyFrame!, in: track.log)
        #expect(track.drain(&stream).map(\.number) == [500, 501])
        track.now = .at(200)
        stream.requestRetransmission(of: 500, in: track.log, roundTrip: .milliseconds(20), at: track.now)
        stream.requestRetransmission(of: 499, in: track.log, roundTrip: .milliseconds(20), at: track.now)
        let sent = track.drain(&stream)
        #expect(sent.map(\.number) == [500])
        #expect(sent.map(\.payload) == [Self.stap(Self.sps, Self.pps)])
        #expect(stream.retransmissionsMissed == 1)
        for number in 2..<600 as Range<Int64> { track.append(number, Self.delta, frame: UInt32(number), marker: true) }
        track.now = .at(900)
        stream.requestRetransmission(of: 500, in: track.log, roundTrip: .milliseconds(20), at: track.now)
        #expect(stream.retransmissionsMissed == 2)
    }

    private static let both = [sps, pps]

    @Test("parameter sets of the description are valid from the start until they are replaced")
    func description() {
        var track = Track(Self.both)
        #expect(track.append(0, Self.idr(), frame: 0, marker: true) == false)
        track.now = .at(110)
        // No packet can precede it any more.
        #expect(track.append(1, Self.delta, frame: 1, marker: true) == true)
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, Self.pps), Self.idr(), Self.delta])
        let changed = Array(Self.pps.dropLast()) + [0x21]
        track.append(2, changed, frame: 2)
        #expect(track.append(3, Self.idr(), frame: 3, marker: true) == true)
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, changed), Self.idr()])
    }

    @Test(
        "parameter sets with the previous frame's or their own timestamp make the IDR frame a key frame"
    )
    func otherTimestamp() {
        for frame in [1, 2] as [UInt32] {
            var track = Track()
            track.append(0, Self.delta, frame: 1, marker: true)
            track.append(1, Self.sps, frame: frame)
            track.append(2, Self.pps, frame: frame)
            #expect(track.append(3, Self.idr(), frame: 3, marker: true) == true)
            let viewed = track.viewed()
            #expect(viewed.map(\.payload) == [Self.stap(Self.sps, Self.pps), Self.idr()])
            #expect(Set(viewed.map(\.timestamp)) == [9000])
        }
    }

    @Test("a picture parameter set before its sequence parameter set is sent once more after it")
    func wrongOrder() {
        for head in [[Self.pps, Self.sps], [Self.stap(Self.pps, Self.sps)]] {
            var track = Track()
            track.append(0, Self.delta, frame: 0, marker: true)
            for (index, payload) in head.enumerated() { track.append(1 + Int64(index), payload, frame: 1) }
            #expect(track.append(1 + Int64(head.count), Self.idr(), frame: 1, marker: true) == true)
            #expect(track.found == [1])
            #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, Self.pps)] + head + [Self.idr()])
        }
    }

    @Test(
        "fragmented parameter sets are known when all fragments have arrived, in any order",
        arguments: [[0, 1, 2], [2, 0, 1]])
    func fragmentedSets(order: [Int]) {
        var track = Track()
        track.append(0, Self.delta, frame: 0, marker: true)
        let parts = Self.fragments(Self.sps, 3)
        for index in order { track.append(1 + Int64(index), parts[index], frame: 1) }
        track.append(4, Self.pps, frame: 1)
        #expect(track.append(5, Self.idr(), frame: 1, marker: true) == true)
        #expect(track.finder.parameterSets.h264.isComplete == true)
        #expect(track.append(6, Self.idr(), frame: 2, marker: true) == true)
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, Self.pps), Self.idr()])
    }

    @Test("an IDR frame without its parameter set follows all that are valid")
    func severalIDs() {
        var track = Track()
        track.append(0, Self.stap(Self.sps, Self.pps, Self.otherSPS, Self.otherPPS), frame: 0)
        track.append(1, Self.idr(1), frame: 0, marker: true)
        #expect(track.found == [0])
        // It contains its own parameter sets, but not those that the slice refers to.
        track.append(2, Self.stap(Self.sps, Self.pps), frame: 1)
        #expect(track.append(3, Self.idr(1), frame: 1, marker: true) == true)
        let all = Self.stap(Self.sps, Self.otherSPS, Self.pps, Self.otherPPS)
        #expect(track.viewed().map(\.payload) == [all, Self.stap(Self.sps, Self.pps), Self.idr(1)])
    }

    @Test("an IDR frame whose parameter sets are unknown is no key frame until they arrive")
    func unknownSets() {
        var track = Track(Self.both)
        track.append(0, Self.delta, frame: 0, marker: true)
        #expect(track.append(2, Self.idr(1), frame: 1, marker: true) == false)
        track.append(3, Self.delta, frame: 2, marker: true)
        // They were lost, and are retransmitted.
        #expect(track.append(1, Self.stap(Self.otherSPS, Self.otherPPS), frame: 1) == true)
        #expect(track.found == [1])
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.otherSPS, Self.otherPPS), Self.idr(1), Self.delta])
    }

    @Test("a first packet that was lost and arrives later begins the key frame")
    func lostFirstPacket() {
        var track = Track()
        track.append(0, Self.delta, frame: 0, marker: true)
        let parts = Self.fragments([0x65, 0x88, 0x84] + [UInt8](repeating: 9, count: 300), 100)
        for (index, part) in parts.enumerated() {
            #expect(track.append(2 + Int64(index), part, frame: 1, marker: index == 99) == false)
        }
        #expect(track.append(1, Self.stap(Self.sps, Self.pps), frame: 1) == true)
        #expect(track.found == [1])
        let viewed = track.viewed()
        #expect(viewed.map(\.payload) == [Self.stap(Self.sps, Self.pps)] + parts)
        #expect(viewed.map(\.number) == (500...600).map { UInt16($0) })
    }

    @Test("slices and fragments of an IDR frame in any order make one key frame")
    func reordered() {
        var track = Track(Self.both)
        track.append(0, Self.delta, frame: 0, marker: true)
        let parts = Self.fragments([0x65, 0x88, 0x84] + [UInt8](repeating: 9, count: 30), 3)
        let second: [UInt8] = [0x65, 0x48, 1, 2]
        #expect(track.append(4, second, frame: 1, marker: true) == false)
        #expect(track.append(2, parts[1], frame: 1) == false)
        #expect(track.append(1, parts[0], frame: 1) == true)
        #expect(track.append(3, parts[2], frame: 1) == false)
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, Self.pps)] + parts + [second])
        #expect(track.append(5, Self.delta, frame: 2, marker: true) == false)
        #expect(track.found == [1])
    }

    @Test("a late key frame that a newer one follows is not the newest")
    func lateKeyFrame() {
        var track = Track()
        track.append(0, Self.stap(Self.sps, Self.pps, Self.idr()), frame: 0, marker: true)
        track.append(4, Self.stap(Self.sps, Self.pps, Self.idr()), frame: 4, marker: true)
        track.now = .at(200)
        #expect(track.append(2, Self.stap(Self.sps, Self.pps, Self.idr()), frame: 2, marker: true) == false)
        #expect(track.log.newestKeyFrame == 1)
        var vp8 = Track()
        vp8.append(4, [0x10, 0x10, 0], frame: 4, codec: .vp8)
        #expect(vp8.append(2, [0x10, 0x10, 0], frame: 2, codec: .vp8) == false)
        #expect(vp8.log.newestKeyFrame == 0)
    }

    @Test("a late parameter set does not replace a newer one")
    func lateSet() {
        var track = Track()
        let changed = Array(Self.pps.dropLast()) + [0x21]
        track.append(0, Self.delta, frame: 0, marker: true)
        track.append(1, Self.sps, frame: 1)
        track.append(5, changed, frame: 5)
        track.append(2, Self.pps, frame: 2)
        track.append(6, Self.idr(), frame: 6, marker: true)
        #expect(track.viewed().map(\.payload) == [Self.stap(Self.sps, changed), Self.idr()])
    }

    @Test("a peer without aggregates gets each parameter set in its own packet, and no delimiter")
    func singleUnits() {
        var track = Track(Self.both, aggregates: false)
        track.append(0, Self.delta, frame: 0, marker: true)
        track.append(1, [0x09, 0xF0], frame: 1)
        #expect(track.append(2, Self.idr(), frame: 1, marker: true) == true)
        #expect(track.viewed().map(\.payload) == [Self.sps, Self.pps, Self.idr()])
        #expect(track.viewed().map(\.number) == [500, 501, 502])
    }

    private static func remember(_ set: [UInt8], _ order: Int64, _ sets: inout H264ParameterSets) {
        sets.remember(set.span, order: order)
    }

    @Test("a limited number of parameter sets is kept, including the last one")
    func bounded() {
        var sets = H264ParameterSets()
        sets.remember(Self.sps.span, order: 0)
        for id in 0..<256 as Range<UInt32> {
            // The bits of ue(v): leading zeros, then the value plus one.
            let value = id + 1
            let width = 32 - value.leadingZeroBitCount
            let bits = String(repeating: "0", count: width - 1) + String(value, radix: 2) + "1"
            let padded = bits + String(repeating: "1", count: (8 - bits.count % 8) % 8)
            let bytes = stride(from: 0, to: padded.count, by: 8).map { start in
                UInt8(padded.dropFirst(start).prefix(8), radix: 2) ?? 0
            }
            Self.remember(([0x68] + bytes), Int64(id) + 1, &sets)
            sets.remember(Self.sps.span, order: Int64(id) + 1)
        }
        #expect(sets.contains(255) && sets.contains(240) && !sets.contains(0))
        let payloads = sets.payloads(aggregates: false)
        #expect(payloads.count <= H264ParameterSets.maximumCount)
        #expect(H264ParameterSets.maximumSize <= PayloadPacketizer.defaultMaximumPayloadSize)
        for large in 0..<32 as Range<UInt8> {
            Self.remember(([0x68, 0x80 | large] + [UInt8](repeating: 7, count: 1000)), 1000 + Int64(large), &sets)
        }
        #expect(sets.payloads(aggregates: false).reduce(0) { $0 + $1.count } <= H264ParameterSets.maximumTotalSize)
        Self.remember(([0x67, 0x42, 0xC0, 0x1F, 0xD9] + [UInt8](repeating: 7, count: 1200)), 5000, &sets)
        #expect(sets.payloads(aggregates: true).allSatisfy { $0.count <= H264ParameterSets.maximumSize })
    }

    @Test("any bytes are accepted without a crash")
    func anyBytes() {
        var random = PayloadRandom(seed: 3)
        var track = Track()
        for sequence in 0..<20_000 as Range<Int64> {
            track.now = .at(sequence)
            let head: UInt8 = [0x67, 0x68, 0x65, 0x41, 0x78, 0x7C, 0x09, 0x06].randomElement(using: &random)!
            let count = Int.random(in: 0...40, using: &random)
            var payload = [head] + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if head == 0x78, count > 3 { (payload[1], payload[2]) = (0, UInt8.random(in: 0...8, using: &random)) }
            if head == 0x7C, count > 1 {
                payload[1] = [0x87, 0x07, 0x47, 0x85, 0x45, 0x88].randomElement(using: &random)!
            }
            track.append(sequence + Int64.random(in: -3...3, using: &random), payload, frame: UInt32(sequence / 4))
            if sequence % 50 == 0 { _ = track.viewed() }
        }
        #expect(track.found.count > 0)
    }

    /// As many units of one byte as fit into a packet.
    private static let crowd: [UInt8] = [0x78] + (0..<200).flatMap { _ in [0, 1, 6] as [UInt8] }

    @Test("an incomplete frame is not searched again for packets of other frames")
    func unrecoverableFrame() {
        var track = Track()
        for sequence in 100..<162 as Range<Int64> { track.append(sequence, Self.crowd, frame: 5) }
        track.append(162, Self.idr(), frame: 5, marker: true)
        let before = track.finder.unitsRead
        for sequence in 163..<463 as Range<Int64> {
            track.append(sequence, Self.delta, frame: UInt32(sequence), marker: true)
        }
        #expect(track.finder.unitsRead - before == 300)
        #expect(track.found == [])
    }

    @Test("packets of a frame in the worst order have a low cost each")
    func worstOrder() {
        var track = Track()
        track.append(163, Self.idr(), frame: 5, marker: true)
        for sequence in (100..<163 as Range<Int64>).reversed() {
            let before = track.finder.unitsRead
            track.append(sequence, Self.crowd, frame: 5)
            #expect(track.finder.unitsRead - before <= 500)
        }
        // The packets of the next frame are searched as usual.
        track.append(200, Self.stap(Self.sps, Self.pps), frame: 6)
        #expect(track.append(201, Self.idr(), frame: 6, marker: true) == true)
    }

    @Test("eight parameter sets of one packet are kept")
    func manySets() {
        var track = Track()
        track.append(1, Self.stap(Self.sps, Self.pps, Self.pps, Self.otherSPS, Self.otherPPS), frame: 1)
        let few = track.finder.parameterSets.h264
        #expect(few.contains(1))
        track = Track()
        let sets = [Self.sps] + Array(repeating: Self.pps, count: 7) + [Self.otherSPS, Self.otherPPS]
        let packet: [UInt8] = sets.reduce([0x78]) { $0 + [0, UInt8($1.count)] + $1 }
        track.append(1, packet, frame: 1)
        let many = track.finder.parameterSets.h264
        #expect(many.contains(0))
        #expect(!many.contains(1))
    }
}
