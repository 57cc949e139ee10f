package import PCastCore

/// The dependency descriptor of a packet (AV1 RTP payload format 1.0, appendix A), as far as an SFU needs it.
///
/// Parsing allocates memory only for a template structure, which key frames have.
package struct DependencyDescriptor: Hashable, Sendable {
    /// Whether the packet begins a frame of a layer.
    package let startsFrame: Bool
    /// Whether the packet ends a frame of a layer.
    package let endsFrame: Bool
    /// The number of the frame modulo 2^16.
    package let frameNumber: UInt16
    /// The structure that begins with this packet; nil if the former one remains.
    package private(set) var structure: DependencyStructure?
    /// The active decode targets as bits, if they begin with this packet; nil if the former ones remain.
    package private(set) var activeTargets: UInt32?
    /// The spatial layer of the frame.
    package private(set) var spatial: UInt8 = 0
    /// The temporal layer of the frame.
    package private(set) var temporal: UInt8 = 0
    /// The decode targets that contain the frame, as bits.
    package private(set) var targets: UInt32 = 0
    /// The decode targets to which a receiver may switch with the frame, as bits.
    package private(set) var switchTargets: UInt32 = 0
    /// The distances to the previous frames of the chains; 0 for a frame that begins a chain.
    package private(set) var chains = ChainDistances()

    /// The offset of the active decode targets in bits, or of the place at which they are inserted.
    private(set) var targetsOffset = 8 * Self.mandatorySize + Self.flagCount
    /// The offset of the end of the last field in bits.
    private(set) var end = 8 * Self.mandatorySize + Self.flagCount

    /// The distances from a frame to the previous frames of at most 32 chains.
    package typealias ChainDistances = SIMD32<UInt8>

    /// The size of a descriptor without extended fields in bytes.
    package static let mandatorySize = 3
    /// The number of flags after the mandatory fields, in a descriptor with extended fields.
    static let flagCount = 5
    /// The flags of the extended fields.
    enum Flag {
        /// A template structure follows.
        static let structure: UInt32 = 0x10
        /// The active decode targets follow.
        static let activeTargets: UInt32 = 0x08
    }

    /// Parses a descriptor. Returns nil if it is truncated, or refers to a template that does not exist.
    ///
    /// - Parameters:
    ///   - bytes: The data of the header extension.
    ///   - structure: The structure of the sender; nil while it is unknown.
    package init?(_ bytes: Span<UInt8>, structure: DependencyStructure?) {
        guard bytes.count >= Self.mandatorySize else { return nil }
        startsFrame = bytes[0] & 0x80 != 0
        endsFrame = bytes[0] & 0x40 != 0
        frameNumber = bytes.bigEndian16(at: 1)
        let template = bytes[0] & 0x3F
        guard bytes.count > Self.mandatorySize else {
            guard let structure else { return nil }
            guard let index = structure.index(of: template) else { return nil }
            take(structure.templates[index])
            return
        }
        var reader = BitReader(offset: Self.mandatorySize)
        let flags = reader.bits(Self.flagCount, bytes)
        if flags & Flag.structure != 0 {
            guard let own = DependencyStructure(&reader, bytes) else { return nil }
            self.structure = own
            activeTargets = own.allTargets
            guard parseFrame(template, flags, own, &reader, bytes) else { return nil }
        } else {
            guard let structure else { return nil }
            guard parseFrame(template, flags, structure, &reader, bytes) else { return nil }
        }
    }

    /// Parses the active decode targets, and the fields that differ from the template. Returns false if it cannot.
    private mutating func parseFrame(
        _ template: UInt8, _ flags: UInt32, _ structure: DependencyStructure, _ reader: inout BitReader,
        _ bytes: Span<UInt8>
    ) -> Bool {
        targetsOffset = reader.position
        if flags & Flag.activeTargets != 0 { activeTargets = reader.bits(structure.targetCount, bytes) }
        guard let index = structure.index(of: template) else { return false }
        take(structure.templates[index])
        if flags & 0x04 != 0 { readIndications(structure.targetCount, &reader, bytes) }
        if flags & 0x02 != 0 {
            // The distances to the frames that this one refers to are not needed.
            while case let size = reader.bits(2, bytes), size > 0 { _ = reader.bits(4 * Int(size), bytes) }
        }
        if flags & 0x01 != 0 {
            for chain in 0..<structure.chainCount { chains[chain] = UInt8(reader.bits(8, bytes)) }
        }
        end = reader.position
        return !reader.isExhausted
    }

    private mutating func take(_ template: DependencyStructure.Template) {
        spatial = template.spatial
        temporal = template.temporal
        targets = template.targets
        switchTargets = template.switchTargets
        chains = template.chains
    }

    /// Reads the decode target indications of the frame, which replace those of the template.
    private mutating func readIndications(_ count: Int, _ reader: inout BitReader, _ bytes: Span<UInt8>) {
        (targets, switchTargets) = (0, 0)
        for target in 0..<count {
            let indication = reader.bits(2, bytes)
            if indication != 0 { targets |= 1 << UInt32(target) }
            if indication == 2 { switchTargets |= 1 << UInt32(target) }
        }
    }
}

/// The template dependency structure of a stream: its layers, decode targets and chains.
package struct DependencyStructure: Hashable, Sendable {
    /// The properties that frames with the same template have in common.
    package struct Template: Hashable, Sendable {
        /// The spatial layer.
        package var spatial: UInt8
        /// The temporal layer.
        package var temporal: UInt8
        /// The decode targets that contain the frame, as bits.
        package var targets: UInt32 = 0
        /// The decode targets to which a receiver may switch with the frame, as bits.
        package var switchTargets: UInt32 = 0
        /// The distances to the previous frames of the chains.
        package var chains = DependencyDescriptor.ChainDistances(repeating: 0)
    }

    /// The id of the first template.
    package let firstTemplate: UInt8
    /// The number of decode targets, 1 to 32.
    package let targetCount: Int
    /// The templates in the order of their ids.
    package private(set) var templates: [Template] = []
    /// The number of chains, 0 to 32.
    package private(set) var chainCount = 0
    /// The chains that protect a decode target, as bits, by target.
    package private(set) var protection: [UInt32] = []
    /// The layers of each decode target.
    package private(set) var layers: [OperatingPoint] = []
    /// The sizes of the spatial layers; empty if they are not stated.
    package private(set) var dimensions: [Dimensions] = []

    /// The maximum number of templates, whose ids have six bits.
    private static let maximumTemplateCount = 64

    /// All decode targets as bits.
    package var allTargets: UInt32 { UInt32(truncatingIfNeeded: UInt64(1) << UInt64(targetCount) - 1) }

    /// Parses a structure. Returns nil if it is truncated or impossible.
    init?(_ reader: inout BitReader, _ bytes: Span<UInt8>) {
        firstTemplate = UInt8(reader.bits(6, bytes))
        targetCount = Int(reader.bits(5, bytes)) + 1
        guard readLayers(&reader, bytes) else { return nil }
        for index in templates.indices {
            for target in 0..<targetCount {
                let indication = reader.bits(2, bytes)
                if indication != 0 { templates[index].targets |= 1 << UInt32(target) }
                if indication == 2 { templates[index].switchTargets |= 1 << UInt32(target) }
            }
        }
        for _ in templates { while !reader.isExhausted, reader.flag(bytes) { _ = reader.bits(4, bytes) } }
        readChains(&reader, bytes)
        if reader.flag(bytes) {
            for _ in 0...(templates.last?.spatial ?? 0) {
                let width = Int(reader.bits(16, bytes)) + 1
                dimensions.append(Dimensions(width: width, height: Int(reader.bits(16, bytes)) + 1))
            }
        }
        guard !reader.isExhausted else { return nil }
        layers = (0..<targetCount).map { target in
            let contained = templates.filter { $0.targets & 1 << UInt32(target) != 0 }
            return OperatingPoint(
                spatial: contained.map(\.spatial).max() ?? 0, temporal: contained.map(\.temporal).max() ?? 0)
        }
    }

    /// Reads the layers of the templates. Returns false if there are too many.
    private mutating func readLayers(_ reader: inout BitReader, _ bytes: Span<UInt8>) -> Bool {
        var template = Template(spatial: 0, temporal: 0)
        while templates.count < Self.maximumTemplateCount, !reader.isExhausted {
            templates.append(template)
            switch reader.bits(2, bytes) {
            case 0: break
            case 1: template.temporal += 1
            case 2: (template.spatial, template.temporal) = (template.spatial + 1, 0)
            default: return true
            }
            guard template.spatial < 4, template.temporal < 8 else { return false }
        }
        return false
    }

    /// Reads which chain protects each decode target, and the chains of the templates.
    private mutating func readChains(_ reader: inout BitReader, _ bytes: Span<UInt8>) {
        chainCount = Int(Self.nonSymmetric(UInt32(targetCount) + 1, &reader, bytes))
        guard chainCount > 0 else { return }
        for _ in 0..<targetCount { protection.append(1 << Self.nonSymmetric(UInt32(chainCount), &reader, bytes)) }
        for index in templates.indices {
            for chain in 0..<chainCount { templates[index].chains[chain] = UInt8(reader.bits(4, bytes)) }
        }
    }

    /// Reads a number below `count` in the non-symmetric form (section A.8.2 and AV1 specification, section 4.10.7).
    private static func nonSymmetric(_ count: UInt32, _ reader: inout BitReader, _ bytes: Span<UInt8>) -> UInt32 {
        let width = UInt32.bitWidth - count.leadingZeroBitCount
        let short = (UInt32(1) << UInt32(width)) - count
        let value = reader.bits(width - 1, bytes)
        return value < short ? value : value << 1 - short + reader.bit(bytes)
    }

    /// Returns the index of the template with an id; nil if there is none.
    @inline(__always)
    func index(of template: UInt8) -> Int? {
        let index = Int((template &- firstTemplate) & 0x3F)
        return index < templates.count ? index : nil
    }

    /// Returns the chains that protect the given decode targets. Both are bits.
    package func chains(protecting targets: UInt32) -> UInt32 {
        var chains: UInt32 = 0
        for target in protection.indices where targets & 1 << UInt32(target) != 0 { chains |= protection[target] }
        return chains
    }
}
