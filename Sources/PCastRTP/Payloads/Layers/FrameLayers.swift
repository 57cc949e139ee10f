package import PCastCore

/// The highest spatial and temporal layer of a stream with layers in one SSRC (SVC) that a receiver gets. It gets all
/// lower layers too.
package struct OperatingPoint: Hashable, Sendable {
    /// The highest spatial layer.
    package var spatial: UInt8
    /// The highest temporal layer.
    package var temporal: UInt8

    /// Creates an operating point.
    package init(spatial: UInt8, temporal: UInt8) {
        self.spatial = spatial
        self.temporal = temporal
    }

    /// All layers.
    package static let all = OperatingPoint(spatial: 7, temporal: 7)

    /// Returns whether frames of the given layers belong to the operating point.
    @inline(__always)
    package func contains(_ other: OperatingPoint) -> Bool {
        other.spatial <= spatial && other.temporal <= temporal
    }

    /// Returns the operating point whose layers two ones have in common.
    package func limited(to other: OperatingPoint) -> OperatingPoint {
        OperatingPoint(spatial: min(spatial, other.spatial), temporal: min(temporal, other.temporal))
    }
}

/// The layers of the frame to which a packet belongs. It is determined once, when the packet arrives, and then read for
/// each viewer.
package struct FrameLayers: Hashable, Sendable {
    /// The properties of the packet.
    private struct Flags: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        /// The layers are known.
        static let known = Flags(rawValue: 1)
        /// The packet ends a frame of a layer.
        static let end = Flags(rawValue: 2)
        /// The frame refers only to lower temporal layers.
        static let beginsTemporal = Flags(rawValue: 4)
        /// Coded pictures that are left out have to be invisible in the picture IDs.
        static let countsPictureIDs = Flags(rawValue: 8)
    }

    /// The layers of the frame.
    package let point: OperatingPoint
    /// The highest temporal layer to which a receiver that has this frame may switch with it.
    let temporalReach: UInt8
    private let flags: Flags

    /// Whether the layers are known; false for codecs and streams without layers, and for padding.
    @inline(__always)
    package var isKnown: Bool { flags.contains(.known) }
    /// Whether the packet ends a frame of a layer.
    @inline(__always)
    package var endsFrame: Bool { flags.contains(.end) }
    /// Whether a receiver that has all lower temporal layers may begin with this one.
    @inline(__always)
    var beginsTemporal: Bool { flags.contains(.beginsTemporal) }
    /// Whether coded pictures that are left out have to be invisible in the picture IDs.
    @inline(__always)
    var countsPictureIDs: Bool { flags.contains(.countsPictureIDs) }

    /// Unknown layers.
    package static let unknown = FrameLayers()

    private init() { self.init(OperatingPoint(spatial: 0, temporal: 0), reach: 0, []) }

    private init(_ point: OperatingPoint, reach: UInt8, _ flags: Flags) {
        self.point = point
        temporalReach = reach
        self.flags = flags
    }

    /// Reads the layers of a VP8 or VP9 payload; they are unknown for other codecs, and for a payload without layers.
    package init(_ codec: Codec, _ payload: Span<UInt8>) {
        switch codec {
        case .vp8: self.init(vp8: payload)
        case .vp9: self.init(vp9: payload)
        case .h264, .h265, .av1, .opus: self.init()
        }
    }

    /// Reads the layers of a VP8 payload (RFC 7741, section 4.2). Receivers of VP8 conclude from the picture IDs which
    /// frames are missing, and so the IDs have to continue.
    private init(vp8 payload: Span<UInt8>) {
        guard let descriptor = VP8PayloadDescriptor.parse(payload), let temporal = descriptor.temporalID else {
            self.init()
            return
        }
        var flags: Flags = [.known, .countsPictureIDs]
        if descriptor.isLayerSync { flags.insert(.beginsTemporal) }
        self.init(
            OperatingPoint(spatial: 0, temporal: temporal),
            reach: descriptor.startsKeyFrame ? OperatingPoint.all.temporal : 0, flags)
    }

    /// Reads the layers of a VP9 payload (RFC 9628, section 4.2). The picture IDs keep their gaps, because the frames
    /// that a frame refers to are given by differences of them.
    private init(vp9 payload: Span<UInt8>) {
        guard let descriptor = VP9PayloadDescriptor.parse(payload), let spatial = descriptor.spatialID,
            let temporal = descriptor.temporalID
        else {
            self.init()
            return
        }
        // The bit U of the lowest layer allows every higher one. That of another layer allows this layer, because
        // libwebrtc sets it if the frame refers only to lower ones.
        let isBase = temporal == 0 && (descriptor.isSwitchingPoint || !descriptor.isInterPredicted)
        var flags: Flags = .known
        if descriptor.isSwitchingPoint, temporal > 0 { flags.insert(.beginsTemporal) }
        if descriptor.endsFrame { flags.insert(.end) }
        self.init(
            OperatingPoint(spatial: spatial, temporal: temporal),
            reach: isBase ? OperatingPoint.all.temporal : 0, flags)
    }

    /// Creates the layers of a packet with a dependency descriptor.
    package init(_ descriptor: DependencyDescriptor, _ structure: DependencyStructure) {
        var reach: UInt8 = 0
        for target in 0..<structure.targetCount where descriptor.switchTargets & 1 << UInt32(target) != 0 {
            let layers = structure.layers[target]
            if layers.spatial == descriptor.spatial { reach = max(reach, layers.temporal) }
        }
        self.init(
            OperatingPoint(spatial: descriptor.spatial, temporal: descriptor.temporal), reach: reach,
            descriptor.endsFrame ? [.known, .end] : .known)
    }
}

/// Reads the layers of a track's packets as they arrive, from the dependency descriptor or from the payload, and notices
/// when a chain of frames is broken.
package struct LayerReader: Sendable {
    /// The structure of the sender. It is kept, because only key frames contain it; nil without the descriptor.
    package private(set) var structure: DependencyStructure?
    /// The number of structures that the sender has had.
    package private(set) var structureNumber = 0
    /// The sequence number of the first packet that was received with the structure.
    private var beganAt: Int64 = .min
    /// The structure before that, for packets that arrive late.
    private var former: DependencyStructure?
    /// A descriptor that contains the structure, and the offset of the end of the structure in bits.
    private var structureBytes: [UInt8] = []
    private var structureEnd = 0
    /// The decode targets that the sender sends, as bits.
    package private(set) var activeTargets: UInt32 = 0
    /// The sequence number of the packet that stated them.
    private var targetsSince: Int64 = .min
    /// The chains that protect the active decode targets, as bits.
    private var activeChains: UInt32 = 0
    /// The newest frame number that arrived; nil before the first.
    private var newest: UInt16?
    /// The highest sequence number of a packet that was read.
    private var newestSequence: Int64 = .min
    /// The frames that arrived among the last 256, at their numbers modulo 256.
    private var arrived = FrameSet()
    /// The frames among the last 256 that are missing in a chain.
    private var missing = FrameSet()
    /// The descriptor of the last packet, as it is kept in the log.
    package private(set) var logged = LoggedDescriptor.none
    /// The descriptor of the last packet with the structure, if the packet begins a key frame and lacks it; otherwise
    /// empty.
    package private(set) var completed: [UInt8] = []

    /// Creates a reader.
    package init() {}

    /// Whether a frame of a chain that protects an active decode target is missing. Until it arrives, or a key frame, the
    /// target cannot be decoded.
    package var isChainBroken: Bool { !missing.isEmpty }

    /// The highest layers of the active decode targets; nil without the descriptor.
    package var activePoint: OperatingPoint? {
        guard let structure, activeTargets & structure.allTargets != 0 else { return nil }
        var point = OperatingPoint(spatial: 0, temporal: 0)
        for target in 0..<structure.targetCount where activeTargets & 1 << UInt32(target) != 0 {
            point.spatial = max(point.spatial, structure.layers[target].spatial)
            point.temporal = max(point.temporal, structure.layers[target].temporal)
        }
        return point
    }

    /// Forgets everything except how many structures there were, because the source restarted.
    package mutating func restart() {
        let number = structureNumber
        self = LayerReader()
        structureNumber = number
    }

    /// Reads the layers of a packet.
    ///
    /// - Parameters:
    ///   - codec: The codec.
    ///   - payload: The payload.
    ///   - descriptor: The dependency descriptor; empty if the packet has none.
    ///   - sequence: The sequence number, unwrapped. Packets may arrive late, because they were retransmitted.
    /// - Returns: The layers.
    package mutating func read(
        _ codec: Codec, payload: ByteView, descriptor: ByteView, sequence: Int64
    ) -> FrameLayers {
        logged = .none
        if !completed.isEmpty { completed = [] }
        guard !payload.isEmpty else { return .unknown }
        guard (DependencyDescriptor.mandatorySize...LoggedDescriptor.maximumSize).contains(descriptor.count) else {
            // The missing frames of a source that sends no more descriptors would stay missing. From its next key frame
            // on, the structure of the former source does not count any more.
            missing = FrameSet()
            if structure != nil, sequence > newestSequence,
                KeyFrameDetector.startsKeyFrame(codec: codec, payload: payload.span)
            {
                restart()
            }
            return FrameLayers(codec, payload.span)
        }
        if structure != nil, sequence < beganAt { return readFormer(codec, payload, descriptor) }
        guard let frame = DependencyDescriptor(descriptor.span, structure: structure) else {
            // The key frame with its structure may arrive later. The frames after it have arrived.
            advance(to: descriptor.span.bigEndian16(at: 1))
            newestSequence = max(newestSequence, sequence)
            return FrameLayers(codec, payload.span)
        }
        if let own = frame.structure { begin(own, frame, descriptor, sequence) }
        newestSequence = max(newestSequence, sequence)
        guard let structure else { return .unknown }
        if let targets = frame.activeTargets, sequence >= targetsSince {
            targetsSince = sequence
            activeTargets = targets
            activeChains = structure.chains(protecting: targets)
        }
        follow(frame, chainCount: structure.chainCount)
        logged = LoggedDescriptor(
            frame, descriptor, targetCount: structure.targetCount, structure: structureNumber,
            activeTargets: activeTargets)
        complete(frame, descriptor, codec, payload)
        return FrameLayers(frame, structure)
    }

    /// Reads the layers of a packet that arrived after later ones with another structure, which stays the current one.
    private mutating func readFormer(_ codec: Codec, _ payload: ByteView, _ descriptor: ByteView) -> FrameLayers {
        guard let frame = DependencyDescriptor(descriptor.span, structure: former),
            let own = frame.structure ?? former
        else { return FrameLayers(codec, payload.span) }
        if own == former {
            logged = LoggedDescriptor(
                frame, descriptor, targetCount: own.targetCount, structure: structureNumber - 1,
                activeTargets: frame.activeTargets ?? own.allTargets)
        }
        return FrameLayers(frame, own)
    }

    /// Takes the structure of a key frame.
    private mutating func begin(
        _ own: DependencyStructure, _ frame: DependencyDescriptor, _ descriptor: ByteView, _ sequence: Int64
    ) {
        if structure != own {
            former = structure
            structure = own
            structureNumber += 1
            beganAt = sequence
            structureBytes = Array(descriptor)
            structureEnd = frame.targetsOffset
        }
        guard let newest, Int16(bitPattern: frame.frameNumber &- newest) <= 0 else { return missing = FrameSet() }
        if sequence > newestSequence {
            // The sender numbers its frames from another start.
            self.newest = nil
            arrived = FrameSet()
            missing = FrameSet()
        } else {
            // A key frame that arrives late. The frames before it are no longer needed.
            let behind = newest &- frame.frameNumber
            if behind < 255 { for distance in behind + 1...255 { missing.remove(newest &- distance) } }
        }
    }

    /// Adds the structure to the descriptor of a packet that begins a key frame and lacks it, because a receiver that
    /// begins there needs it.
    private mutating func complete(
        _ frame: DependencyDescriptor, _ descriptor: ByteView, _ codec: Codec, _ payload: ByteView
    ) {
        guard let structure, frame.startsFrame, frame.structure == nil, frame.spatial == 0,
            frame.switchTargets == structure.allTargets,
            KeyFrameDetector.startsKeyFrame(codec: codec, payload: payload.span)
        else { return }
        let (earlier, end, targets) = (structureBytes, structureEnd, activeTargets)
        let bytes = [UInt8](capacity: LoggedDescriptor.maximumSize) { buffer in
            earlier.withByteView { earlier in
                frame.complete(
                    descriptor, with: earlier, upTo: end, targetCount: structure.targetCount, activeTargets: targets,
                    into: buffer) ?? 0
            }
        }
        guard let whole = DependencyDescriptor(bytes.span, structure: nil) else { return }
        logged = bytes.withByteView {
            LoggedDescriptor(
                whole, $0, targetCount: structure.targetCount, structure: structureNumber, activeTargets: targets)
        }
        completed = bytes
    }

    /// Notes the arrival of a frame. Returns whether it is newer than all before, and not the first one.
    @discardableResult
    private mutating func advance(to number: UInt16) -> Bool {
        if let newest, Int16(bitPattern: number &- newest) <= 0 {
            guard newest &- number < 256 else { return false }
            arrived.insert(number)
            missing.remove(number)
            return false
        }
        let step = newest.map { Int(number &- $0) } ?? 256
        arrived.advance(from: newest ?? number, by: step)
        missing.advance(from: newest ?? number, by: step)
        let isFirst = newest == nil
        newest = number
        arrived.insert(number)
        return !isFirst
    }

    /// Notes the arrival of a frame, and the frames that are missing before it in the active chains.
    private mutating func follow(_ frame: DependencyDescriptor, chainCount: Int) {
        let number = frame.frameNumber
        guard advance(to: number), frame.startsFrame else { return }
        for chain in 0..<chainCount where activeChains & 1 << UInt32(chain) != 0 {
            let distance = frame.chains[chain]
            guard distance > 0 else { continue }
            let previous = number &- UInt16(distance)
            if !arrived.contains(previous) { missing.insert(previous) }
        }
    }

    /// A set of frame numbers among the last 256.
    private struct FrameSet: Hashable, Sendable {
        private var bits = SIMD4<UInt64>(repeating: 0)

        var isEmpty: Bool { bits == SIMD4(repeating: 0) }

        func contains(_ number: UInt16) -> Bool { bits[Int(number >> 6 & 3)] & 1 << UInt64(number & 63) != 0 }

        mutating func insert(_ number: UInt16) { bits[Int(number >> 6 & 3)] |= 1 << UInt64(number & 63) }

        mutating func remove(_ number: UInt16) { bits[Int(number >> 6 & 3)] &= ~(1 << UInt64(number & 63)) }

        /// Removes the numbers that leave the last 256.
        mutating func advance(from number: UInt16, by step: Int) {
            guard step < 256 else { return bits = SIMD4(repeating: 0) }
            for distance in 1...max(step, 1) { remove(number &+ UInt16(distance)) }
        }
    }
}
