import PCastCore
import PCastRTP

/// Dependency descriptors of one sender, as an SFU reads them: chunks, each of which is the header extension of a packet.
enum DependencyDescriptorTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        var reader = LayerReader()
        var isRead = false
        var sequence: Int64 = 0
        var forwardedCount = 0
        let payload: [UInt8] = [1, 2, 3]
        while !input.isAtEnd {
            let chunk = input.chunk()
            let before = reader.structure
            // Some packets arrive late.
            sequence += chunk.first.map { $0 & 0x20 == 0 } ?? true ? 1 : -2
            let layers = payload.withByteView { payload in
                chunk.withByteView { reader.read(.av1, payload: payload, descriptor: $0, sequence: sequence) }
            }
            if reader.logged.exists, forwardedCount < 8 {
                try forward(chunk, reader)
                forwardedCount += 1
            }
            if layers.isKnown {
                isRead = true
                try check(layers.point.spatial < 4 && layers.point.temporal < 8, "layers that do not exist")
            }
            guard let structure = reader.structure else { continue }
            try check((1...32).contains(structure.targetCount), "\(structure.targetCount) decode targets")
            try check((1...64).contains(structure.templates.count), "\(structure.templates.count) templates")
            try check(structure.layers.count == structure.targetCount, "decode targets without layers")
            try check((0...32).contains(structure.chainCount), "\(structure.chainCount) chains")
            let all = structure.allTargets
            for template in structure.templates {
                try check(template.targets & ~all == 0, "a template of an unknown decode target")
                try check(template.switchTargets & ~template.targets == 0, "a switch without the decode target")
            }
            if before != nil, let point = reader.activePoint {
                try check(point.spatial < 4 && point.temporal < 8, "active layers that do not exist")
            }
        }
        return isRead
    }

    /// Forwards a packet to a viewer of all layers and to one of the lowest layer, and parses what they receive.
    private static func forward(_ descriptor: [UInt8], _ reader: LayerReader) throws(BrokenInvariant) {
        let points = [
            OperatingPoint.all, OperatingPoint(spatial: 0, temporal: 0), OperatingPoint(spatial: 1, temporal: 1),
        ]
        for point in points {
            var log = PacketLog(capacity: 2)
            if let structure = reader.structure { log.note(structure, number: reader.structureNumber) }
            let entry = PacketLog.Entry(
                sequence: 1, timestamp: 1, marker: true, startsKeyFrame: true, arrival: Instant(nanoseconds: 0))
            let payload: [UInt8] = [1, 2, 3]
            payload.withByteView { payload in
                descriptor.withByteView {
                    _ = log.append(entry, payload: payload, descriptor: reader.logged, bytes: $0)
                }
            }
            var stream = OutboundStream(parameters, firstSequenceNumber: 1, retransmissionSequenceNumber: 1)
            stream.begin(at: 0, in: log)
            if point != .all { stream.select(point) }
            var number: UInt16 = 0
            let memory = ByteStorage(byteCount: 512)
            let time = Instant(nanoseconds: 0)
            guard
                stream.next(
                    in: log, at: time, sendTime: AbsoluteSendTime(time), transportSequenceNumber: &number,
                    into: memory.bytes) != nil
            else { throw BrokenInvariant(description: "a packet that is not sent") }
            let bytes = Array(memory.bytes)
            guard let header = RTPHeader.parse(bytes.span) else {
                throw BrokenInvariant(description: "a header that does not read back")
            }
            guard let range = header.extensions.find(extensionID, in: bytes.span) else { continue }
            let former = DependencyDescriptor(descriptor.span, structure: reader.structure)
            let read = DependencyDescriptor(bytes.span.extracting(range), structure: reader.structure)
            guard let former else { continue }
            guard let read else { throw BrokenInvariant(description: "a descriptor that does not read back") }
            try check(read.frameNumber == former.frameNumber, "another frame number")
            try check(read.structure == former.structure, "another structure")
            try check(read.spatial == former.spatial && read.temporal == former.temporal, "other layers")
            try check(read.targets == former.targets && read.chains == former.chains, "other decode targets")
            if point == .all { try check(read.activeTargets == former.activeTargets, "other active decode targets") }
        }
    }

    private static let extensionID: UInt8 = 5

    private static let parameters: OutboundStream.Parameters = {
        var extensions = RTPHeaderExtensionMap()
        extensions.allowsTwoByte = true
        extensions[extensionID] = .dependencyDescriptor
        return OutboundStream.Parameters(
            ssrc: 1, payloadType: 96, retransmission: nil, mid: nil, extensions: extensions, clockRate: .video)
    }()

    static let corpus: [[UInt8]] = [
        // The structure of the mode L2T2_KEY, frames by its templates, and other active decode targets.
        FuzzInput.chunks([keyFrame, [0xC3, 0, 8], [0xC2, 0, 9], [0xC5, 0, 10], [0xC1, 0, 11], [0xC4, 0, 13]]),
        FuzzInput.chunks([keyFrame, hexadecimal("c2012c7b90a531990060")]),
    ]

    private static let keyFrame = hexadecimal("c000078003187aaa0100a0a014d1413451802190888a19404fc02cc09fc059c0")
}
