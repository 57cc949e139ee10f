import PCastCore
import Testing

@testable import PCastRTP

/// A receiver that gets some of the layers in one SSRC.
@Suite struct LayerFilterTests {
    /// A packet as the receiver gets it.
    private struct Sent: Equatable {
        var sequence: UInt16
        var timestamp: UInt32
        var marker: Bool
        /// The sequence number of the packet that a retransmission repeats.
        var original: UInt16?
        var position: Int64
        var omitsPayload: Bool
        var pictureOffset: UInt16
    }

    /// A source, and a stream to one receiver.
    private struct Scene: ~Copyable {
        var log = PacketLog(capacity: 1024)
        var stream = OutboundStream(
            OutboundStream.Parameters(
                ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97), mid: nil,
                extensions: RTPHeaderExtensionMap(), clockRate: .video),
            firstSequenceNumber: 500, retransmissionSequenceNumber: 40)
        var sequence: Int64 = 65_530
        var picture: UInt32 = 0

        /// Appends a packet.
        mutating func append(
            _ codec: Codec, _ payload: [UInt8], marker: Bool, isKey: Bool = false, sequence: Int64, picture: UInt32
        ) {
            log.append(
                PacketLog.Entry(
                    sequence: sequence, timestamp: picture &* 3_000, marker: marker, startsKeyFrame: isKey,
                    arrival: .at(Int64(picture) * 33), layers: FrameLayers(codec, payload.span)), payload: payload)
        }

        /// Appends a coded picture of VP9 with three spatial layers of two packets each, without the packets with the
        /// given indices.
        mutating func appendTemporalUnit(
            temporal: UInt8 = 0, isKey: Bool = false, isSwitch: Bool = false, without lost: Set<Int> = []
        ) {
            for index in 0..<6 where !lost.contains(index) {
                appendPacket(
                    index, sequence: sequence + Int64(index), picture: picture, temporal: temporal, isKey: isKey,
                    isSwitch: isSwitch)
            }
            sequence += 6
            picture += 1
        }

        /// Appends one of the six packets of a coded picture.
        mutating func appendPacket(
            _ index: Int, sequence: Int64, picture: UInt32, temporal: UInt8, isKey: Bool = false, isSwitch: Bool = false
        ) {
            let spatial = UInt8(index / 2)
            let flags: UInt8 = 0xA0 | (isKey ? 0 : 0x40) | (index % 2 == 0 ? 8 : 4)
            let layers = temporal << 5 | (isSwitch ? 0x10 : 0) | spatial << 1 | (spatial > 0 ? 1 : 0)
            append(
                .vp9, [flags, 0x80 | UInt8(picture >> 8 & 0x7F), UInt8(picture & 0xFF), layers, 0, spatial, temporal],
                marker: index == 5, isKey: isKey && index == 0, sequence: sequence, picture: picture)
        }

        mutating func drain(at now: Instant = .at(0)) -> [Sent] {
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
                        sequence: header.sequenceNumber, timestamp: header.timestamp, marker: header.marker,
                        original: packet.isRetransmission ? UInt16(room[size]) << 8 | UInt16(room[size + 1]) : nil,
                        position: packet.position, omitsPayload: packet.omitsPayload,
                        pictureOffset: packet.pictureOffset.pictureID))
            }
        }

        /// Appends and sends coded pictures in the pattern of libwebrtc for three temporal layers.
        mutating func sendTemporalUnits(_ count: Int) -> [Sent] {
            let pattern: [(temporal: UInt8, isSwitch: Bool)] = [(0, false), (2, true), (1, true), (2, true)]
            var sent: [Sent] = []
            for _ in 0..<count {
                let step = pattern[Int(picture) % 4]
                appendTemporalUnit(temporal: step.temporal, isSwitch: step.isSwitch)
                sent += drain()
            }
            return sent
        }

        /// The spatial and temporal layer of a packet, as its last two bytes.
        func layers(_ sent: Sent) -> [UInt8] {
            let payload = log.payload(at: sent.position)
            return [payload[payload.count - 2], payload[payload.count - 1]]
        }
    }

    /// Whether the numbers have no gap.
    private static func isContiguous(_ sent: [Sent]) -> Bool {
        zip(sent, sent.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 }
    }

    /// Whether exactly the last packet of each coded picture has the marker bit.
    private static func isMarked(_ sent: [Sent]) -> Bool {
        zip(sent, sent.dropFirst()).allSatisfy { $0.marker == ($0.timestamp != $1.timestamp) }
            && sent.last?.marker == true
    }

    @Test(
        "lower spatial layers are sent without a gap, and the last one has the marker bit",
        arguments: [0, 1, 2] as [UInt8])
    func spatial(highest: UInt8) {
        var scene = Scene()
        scene.stream.select(OperatingPoint(spatial: highest, temporal: 7))
        for picture in 0..<10 { scene.appendTemporalUnit(isKey: picture == 0) }
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain()
        #expect(sent.count == 10 * 2 * (Int(highest) + 1))
        #expect(Self.isContiguous(sent) && Self.isMarked(sent))
        #expect(sent.first?.sequence == 500)
    }

    @Test("a spatial layer is lowered between two coded pictures, and raised at a key frame")
    func changesSpatialLayers() {
        var scene = Scene()
        var sent: [Sent] = []
        scene.appendTemporalUnit(isKey: true)
        scene.stream.begin(at: 0, in: scene.log)
        // A part of the coded picture has been sent when the layer changes.
        sent += scene.drain()
        for index in 0..<3 {
            scene.appendPacket(index, sequence: scene.sequence + Int64(index), picture: 1, temporal: 0)
        }
        sent += scene.drain()
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 7))
        for index in 3..<6 {
            scene.appendPacket(index, sequence: scene.sequence + Int64(index), picture: 1, temporal: 0)
        }
        (scene.sequence, scene.picture) = (scene.sequence + 6, 2)
        sent += scene.drain()
        #expect(sent.count == 12)
        scene.appendTemporalUnit()
        sent += scene.drain()
        #expect(sent.count == 14)
        #expect(scene.stream.needsKeyFrameForLayer == false)
        scene.stream.select(.all)
        #expect(scene.stream.needsKeyFrameForLayer == true)
        scene.appendTemporalUnit()
        sent += scene.drain()
        #expect(sent.count == 16)
        scene.appendTemporalUnit(isKey: true)
        sent += scene.drain()
        #expect(sent.count == 22 && scene.stream.operatingPoint == .all)
        #expect(Self.isContiguous(sent) && Self.isMarked(sent))
    }

    @Test("a temporal layer is lowered at once, and raised at a frame that allows it")
    func changesTemporalLayers() {
        var scene = Scene()
        var sent: [Sent] = []
        scene.appendTemporalUnit(isKey: true)
        scene.stream.begin(at: 0, in: scene.log)
        sent += scene.drain()
        sent += scene.sendTemporalUnits(7)
        scene.stream.select(OperatingPoint(spatial: 7, temporal: 0))
        let reduced = scene.sendTemporalUnits(8)
        let reducedLayers = reduced.map { scene.layers($0)[1] }
        #expect(sent.count == 48 && reducedLayers == [UInt8](repeating: 0, count: 12))
        scene.stream.select(.all)
        let raised = scene.sendTemporalUnits(8)
        sent += reduced + raised
        let temporal = raised.filter { scene.layers($0)[0] == 0 && $0.sequence % 2 == 0 }.map { scene.layers($0)[1] }
        // The first frame of layer 2 may refer to one of layer 1, which the receiver did not get.
        #expect(temporal == [0, 1, 2, 0, 2, 1, 2])
        #expect(Self.isContiguous(sent) && Self.isMarked(sent))
    }

    @Test("a retransmission has the number, the marker bit and the contents of the packet that was sent")
    func retransmissions() {
        var scene = Scene()
        scene.stream.select(OperatingPoint(spatial: 1, temporal: 0))
        for picture in 0..<40 {
            scene.appendTemporalUnit(temporal: UInt8(picture % 2), isKey: picture == 0, isSwitch: picture % 2 == 1)
        }
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain(at: .at(2_000))
        #expect(sent.count == 80)
        for packet in sent {
            scene.stream.requestRetransmission(
                of: packet.sequence, in: scene.log, roundTrip: .milliseconds(10), at: .at(5_000))
            let again = scene.drain(at: .at(5_000))
            #expect(again.map(\.original) == [packet.sequence] && again.map(\.position) == [packet.position])
            #expect(again.map(\.marker) == [packet.marker] && again.map(\.timestamp) == [packet.timestamp])
        }
    }

    @Test("retransmissions of layers that are not selected any more are dropped if they are too many")
    func dropsResends() {
        var scene = Scene()
        for picture in 0..<4 { scene.appendTemporalUnit(isKey: picture == 0) }
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain()
        #expect(sent.count == 24)
        func request(_ scene: inout Scene) {
            for packet in sent.suffix(6) {
                scene.stream.requestRetransmission(
                    of: packet.sequence, in: scene.log, roundTrip: .milliseconds(10), at: .at(5_000))
            }
        }
        request(&scene)
        #expect(scene.stream.dropResends(aboveLayersIn: scene.log, over: 0) == nil)
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 7))
        #expect(scene.stream.dropResends(aboveLayersIn: scene.log, over: 10_000) == nil)
        // The newest packet is the last one of the highest layer.
        #expect(scene.stream.dropResends(aboveLayersIn: scene.log, over: 0) == scene.sequence - 1)
        #expect(scene.drain(at: .at(5_000)).map(\.original) == sent.suffix(6).prefix(2).map(\.sequence))
    }

    @Test("a lost packet keeps its number, unless it belongs to a frame that is left out")
    func losses() {
        var scene = Scene()
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 7))
        scene.appendTemporalUnit(isKey: true)
        // The packets 3 and 4 are within the layers that are left out; packet 1 is not.
        scene.appendTemporalUnit(without: [3, 4])
        scene.appendTemporalUnit(without: [1])
        scene.appendTemporalUnit()
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain()
        #expect(sent.map(\.sequence) == [500, 501, 502, 503, 504, 506, 507])
        // The missing packets arrive.
        scene.appendPacket(3, sequence: 65_530 + 6 + 3, picture: 1, temporal: 0)
        scene.appendPacket(1, sequence: 65_530 + 12 + 1, picture: 2, temporal: 0)
        let late = scene.drain()
        #expect(late.map(\.sequence) == [505] && late.map(\.marker) == [true])
        #expect(late.map(\.omitsPayload) == [false])
    }

    @Test("a late packet whose number was kept is sent empty if its layer is left out")
    func lateUpperLayer() {
        var scene = Scene()
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 7))
        scene.appendTemporalUnit(isKey: true)
        scene.appendTemporalUnit(without: [2])
        scene.appendTemporalUnit()
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain()
        #expect(sent.map(\.sequence) == [500, 501, 502, 503, 505, 506])
        scene.appendPacket(2, sequence: 65_530 + 6 + 2, picture: 1, temporal: 0)
        let late = scene.drain()
        #expect(late.map(\.sequence) == [504] && late.map(\.omitsPayload) == [true])
    }

    @Test("the picture IDs of VP8 have no gap where coded pictures are left out")
    func pictureIDs() {
        var scene = Scene()
        scene.stream.select(OperatingPoint(spatial: 7, temporal: 1))
        for number in UInt16(0)..<16 {
            let temporal: UInt8 = [0, 2, 1, 2][Int(number) % 4]
            // X, S; I, L and T; a picture ID of 15 bits; TL0PICIDX; TID and Y.
            let payload: [UInt8] = [
                0x90, 0xE0, 0x80 | UInt8((number + 100) >> 8), UInt8((number + 100) & 0xFF), UInt8(number / 4),
                temporal << 6 | 0x20, number == 0 ? 0x10 : 0x11, 2, 0, 0x9D, 1, 0x2A, 64, 1, 180, 0,
            ]
            scene.append(
                .vp8, payload, marker: true, isKey: number == 0, sequence: Int64(number), picture: UInt32(number))
        }
        scene.stream.begin(at: 0, in: scene.log)
        let sent = scene.drain(at: .at(2_000))
        let numbers = sent.map { packet in
            VPXPictureNumbers(.vp8, scene.log.payload(at: packet.position).span)?.pictureID?.value ?? 0
        }
        #expect(numbers == [100, 102, 104, 106, 108, 110, 112, 114])
        #expect(zip(numbers, sent).map { $0 &+ $1.pictureOffset } == Array(100..<108))
        #expect(Self.isContiguous(sent))
        for packet in sent {
            scene.stream.requestRetransmission(
                of: packet.sequence, in: scene.log, roundTrip: .milliseconds(10), at: .at(5_000))
            let again = scene.drain(at: .at(5_000))
            #expect(again.map(\.pictureOffset) == [packet.pictureOffset])
        }
    }

    @Test("what was left out long ago is forgotten, and is not retransmitted under a wrong number")
    func manyCuts() {
        var cuts = SequenceCuts()
        // Three of ten packets are left out.
        let count = Int64(SequenceCuts.capacity) + 50
        for index in 0..<count { cuts.append(index * 10..<index * 10 + 3, pictures: 1) }
        let end = count * 10 - 1
        #expect(cuts.after(end) == SequenceCuts.After())
        #expect(cuts.after(end - 10) == SequenceCuts.After(packets: 3, pictures: 1))
        #expect(cuts.after(end - 8) == nil && cuts.contains(end - 8))
        #expect(cuts.after(5) == nil && cuts.contains(5) == false)
        for source in (end - 200)...end where !cuts.contains(source) {
            let shifted = source + (cuts.after(source)?.packets ?? 0)
            #expect(cuts.source(ofShifted: shifted) == source)
        }
        #expect(cuts.source(ofShifted: 5) == nil)
    }
}
