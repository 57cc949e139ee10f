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
    /// The decode targets that the sender sends, as bits.
    package private(set) var activeTargets: UInt32 = 0
    /// The chains that protect the active decode targets, as bits.
    private var activeChains: UInt32 = 0
    /// The newest frame number that arrived; nil before the first.
    private var newest: UInt16?
    /// The frames that arrived among the last 256, at their numbers modulo 256.
    private var arrived = FrameSet()
    /// The frames among the last 256 that are missing in a chain.
    private var missing = FrameSet()

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

    /// Forgets everything, because the source restarted.
    package mutating func restart() { self = LayerReader() }

    /// Reads the layers of a packet.
    ///
    /// - Parameters:
    ///   - codec: The codec.
    ///   - payload: The payload.
    ///   - descriptor: The dependency descriptor; empty if the packet has none.
    /// - Returns: The layers.
    package mutating func read(_ codec: Codec, payload: ByteView, descriptor: ByteView) -> FrameLayers {
        guard !payload.isEmpty else { return .unknown }
        guard !descriptor.isEmpty else { return FrameLayers(codec, payload.span) }
        guard let frame = DependencyDescriptor(descriptor.span, structure: structure) else {
            return FrameLayers(codec, payload.span)
        }
        if let own = frame.structure { begin(own, frame.frameNumber) }
        if let targets = frame.activeTargets, let structure {
            activeTargets = targets
            activeChains = structure.chains(protecting: targets)
        }
        guard let structure else { return .unknown }
        follow(frame, chainCount: structure.chainCount)
        return FrameLayers(frame, structure)
    }

    private mutating func begin(_ own: DependencyStructure, _ frameNumber: UInt16) {
        // A retransmission of an older key frame does not replace the structure.
        if let newest, structure == own, Int16(bitPattern: frameNumber &- newest) <= 0 { return }
        structure = own
        missing = FrameSet()
        arrived = FrameSet()
        newest = nil
    }

    /// Notes the arrival of a frame, and the frames that are missing before it in the active chains.
    private mutating func follow(_ frame: DependencyDescriptor, chainCount: Int) {
        let number = frame.frameNumber
        if let newest, Int16(bitPattern: number &- newest) <= 0 {
            guard newest &- number < 256 else { return }
            arrived.insert(number)
            return missing.remove(number)
        }
        let step = newest.map { Int(number &- $0) } ?? 256
        arrived.advance(from: newest ?? number, by: step)
        missing.advance(from: newest ?? number, by: step)
        let isFirst = newest == nil
        newest = number
        arrived.insert(number)
        guard frame.startsFrame, !isFirst else { return }
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
