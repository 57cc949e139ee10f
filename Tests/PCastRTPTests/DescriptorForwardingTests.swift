import PCastCore
import Testing

@testable import PCastRTP

/// The dependency descriptor as viewers receive it.
@Suite struct DescriptorForwardingTests {
    /// A packet as a viewer receives it.
    private struct Received {
        var sequence: UInt16
        var descriptor: DependencyDescriptor?
        var bytes: [UInt8]
        var isRetransmission: Bool
    }

    /// A source with the scalability mode `L2T2_KEY`, and a stream to one viewer, which parses what it receives.
    private struct Scene: ~Copyable {
        var log = PacketLog(capacity: 256)
        var reader = LayerReader()
        var stream: OutboundStream
        var structure: DependencyStructure?
        var sequence: Int64 = 100
        var picture: UInt32 = 0
        var frame: UInt16 = 65_530

        static let extensionID: UInt8 = 5

        init(receivesDescriptors: Bool = true) {
            var extensions = RTPHeaderExtensionMap()
            extensions.allowsTwoByte = true
            extensions[1] = .mid
            extensions[3] = .transportSequenceNumber
            if receivesDescriptors { extensions[Self.extensionID] = .dependencyDescriptor }
            stream = OutboundStream(
                OutboundStream.Parameters(
                    ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97),
                    mid: RTPStreamIdentifier("0"), extensions: extensions, clockRate: .video),
                firstSequenceNumber: 500, retransmissionSequenceNumber: 40)
        }

        /// Appends a packet of VP9, whose payload begins a key frame in the lowest layer if it is one.
        mutating func append(_ descriptor: [UInt8], isKey: Bool, marker: Bool) {
            let payload: [UInt8] = [isKey ? 0x08 : 0x48, 0x82, 0x49, 0x83, 0x42, 0x20, 0x27, 0xF0, 0x16, 0x70, 0]
            let (number, timestamp) = (sequence, picture &* 3_000)
            var entry = PacketLog.Entry(
                sequence: number, timestamp: timestamp, marker: marker, startsKeyFrame: isKey,
                arrival: .at(Int64(picture) * 33))
            payload.withByteView { payload in
                descriptor.withByteView { descriptor in
                    entry.layers = reader.read(.vp9, payload: payload, descriptor: descriptor, sequence: number)
                    if let structure = reader.structure, log.decodeTargets.newest != reader.structureNumber {
                        log.note(structure, number: reader.structureNumber)
                    }
                    if reader.completed.isEmpty {
                        log.append(entry, payload: payload, descriptor: reader.logged, bytes: descriptor)
                    } else {
                        _ = reader.completed.withByteView {
                            log.append(entry, payload: payload, descriptor: reader.logged, bytes: $0)
                        }
                    }
                }
            }
            sequence += 1
            frame &+= 1
        }

        /// Appends a coded picture with both spatial layers.
        mutating func appendKeyFrame(active: UInt32? = nil, hasStructure: Bool = true) {
            append(
                hasStructure
                    ? DependencyDescriptorTests.keyFrame(frame, active: active)
                    : DependencyDescriptorTests.frame(frame, template: 0),
                isKey: true, marker: false)
            append(DependencyDescriptorTests.frame(frame, template: 3), isKey: false, marker: true)
            picture += 1
        }

        /// Appends a coded picture of the upper temporal layer, and one of the lower.
        mutating func appendPair() {
            for templates in [[2, 5], [1, 4]] as [[UInt8]] {
                append(DependencyDescriptorTests.frame(frame, template: templates[0]), isKey: false, marker: false)
                append(DependencyDescriptorTests.frame(frame, template: templates[1]), isKey: false, marker: true)
                picture += 1
            }
        }

        mutating func drain(at now: Instant = .at(0)) -> [Received] {
            var counter: UInt16 = 0
            var received: [Received] = []
            var room = [UInt8](repeating: 0xEE, count: 512)
            while true {
                let packet = room.withMutableByteView {
                    stream.next(
                        in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counter, into: $0)
                }
                guard let packet, let header = RTPHeader.parse(room.span), header.headerSize == packet.headerSize else {
                    return received
                }
                let range = header.extensions.find(Self.extensionID, in: room.span) ?? 0..<0
                let bytes = Array(room[range])
                let descriptor = DependencyDescriptor(bytes.span, structure: structure)
                if !packet.isRetransmission, let own = descriptor?.structure { structure = own }
                received.append(
                    Received(
                        sequence: header.sequenceNumber, descriptor: descriptor, bytes: bytes,
                        isRetransmission: packet.isRetransmission))
            }
        }
    }

    @Test("a viewer of all layers receives the descriptors as they were sent, and a viewer without them none")
    func wholeStream() {
        for receivesDescriptors in [true, false] {
            var scene = Scene(receivesDescriptors: receivesDescriptors)
            scene.stream.beginAtEnd(of: scene.log)
            scene.appendKeyFrame()
            scene.appendPair()
            let received = scene.drain()
            #expect(received.count == 6)
            guard receivesDescriptors else {
                #expect(received.allSatisfy { $0.bytes.isEmpty })
                continue
            }
            #expect(received.map(\.bytes.count).dropFirst() == [3, 3, 3, 3, 3])
            #expect(received.first?.bytes == DependencyDescriptorTests.keyFrame(65_530))
            #expect(received.map(\.descriptor?.frameNumber) == [65_530, 65_531, 65_532, 65_533, 65_534, 65_535])
            #expect(received.map(\.descriptor?.spatial) == [0, 1, 0, 1, 0, 1])
            #expect(received.map(\.descriptor?.temporal) == [0, 0, 1, 1, 0, 0])
        }
    }

    @Test("a viewer of some layers receives the decode targets that remain, until a key frame with all layers")
    func activeTargets() {
        var scene = Scene()
        scene.stream.beginAtEnd(of: scene.log)
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 1))
        scene.appendKeyFrame()
        scene.appendPair()
        scene.appendPair()
        let lower = scene.drain()
        #expect(lower.map(\.descriptor?.activeTargets) == [UInt32](repeating: 0b0011, count: 5))
        #expect(lower.map(\.descriptor?.spatial) == [0, 0, 0, 0, 0])
        #expect(lower.map(\.descriptor?.temporal) == [0, 1, 0, 1, 0])
        #expect(lower.dropFirst().allSatisfy { $0.bytes.count == 5 })
        #expect(zip(lower, lower.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
        // The numbers keep their gaps, because frames refer to each other by differences of them.
        #expect(lower.map(\.descriptor?.frameNumber) == [65_530, 65_532, 65_534, 0, 2])
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 0))
        scene.appendPair()
        #expect(scene.drain().map(\.descriptor?.activeTargets) == [0b0001])
        scene.stream.select(.all)
        scene.appendPair()
        scene.appendKeyFrame(active: 0b0111)
        scene.appendPair()
        let raised = scene.drain()
        #expect(raised.suffix(6).first?.descriptor?.structure != nil)
        #expect(raised.suffix(6).first?.descriptor?.activeTargets == 0b0111)
        #expect(raised.suffix(5).allSatisfy { $0.bytes.count == 3 })
    }

    @Test("the active decode targets of the source are not extended")
    func targetsOfTheSource() {
        var scene = Scene()
        scene.stream.beginAtEnd(of: scene.log)
        scene.stream.select(OperatingPoint(spatial: 1, temporal: 0))
        scene.appendKeyFrame(active: 0b0011)
        scene.appendPair()
        let received = scene.drain()
        #expect(received.allSatisfy { $0.descriptor?.activeTargets == 0b0001 })
        #expect(received.first?.descriptor?.structure == scene.reader.structure)
    }

    @Test("the numbers of frames continue when the viewer begins again with another source")
    func frameNumbers() throws {
        var scene = Scene()
        scene.stream.beginAtEnd(of: scene.log)
        scene.appendKeyFrame()
        scene.appendPair()
        #expect(scene.drain().last?.descriptor?.frameNumber == 65_535)
        scene.frame = 77
        scene.sequence = 300
        let position = scene.log.end
        scene.appendKeyFrame()
        scene.appendPair()
        scene.stream.begin(at: position, in: scene.log)
        #expect(scene.drain().map(\.descriptor?.frameNumber) == [0, 1, 2, 3, 4, 5])
    }

    @Test("a retransmission has the descriptor of the packet")
    func retransmission() throws {
        var scene = Scene()
        scene.stream.beginAtEnd(of: scene.log)
        scene.stream.select(OperatingPoint(spatial: 0, temporal: 1))
        scene.appendKeyFrame()
        scene.appendPair()
        let first = scene.drain()
        for packet in first.prefix(2) {
            scene.stream.requestRetransmission(
                of: packet.sequence, in: scene.log, roundTrip: .milliseconds(20), at: .at(2_000))
        }
        let repeated = scene.drain(at: .at(2_000))
        #expect(repeated.count == 2 && repeated.allSatisfy { $0.isRetransmission })
        #expect(repeated.map(\.bytes) == first.prefix(2).map(\.bytes))
    }

    @Test("a key frame that lacks the structure is sent with it, so that a viewer can begin there")
    func repeatedStructure() throws {
        var scene = Scene()
        scene.appendKeyFrame(active: 0b0111)
        scene.appendPair()
        let position = scene.log.end
        scene.appendKeyFrame(hasStructure: false)
        scene.appendPair()
        scene.stream.begin(at: position, in: scene.log)
        let received = scene.drain()
        #expect(received.count == 6)
        let first = try #require(received.first?.descriptor)
        #expect(first.structure == scene.reader.structure && first.activeTargets == 0b0111)
        #expect(received.allSatisfy { $0.descriptor != nil })
    }
}
