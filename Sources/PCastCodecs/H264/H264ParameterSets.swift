import PCastMedia

/// The parameter sets of a stream of H.264, to stand before a picture that came without them (COD4).
struct H264ParameterSets: Sendable {
    private struct Entry: Hashable, Sendable {
        let type: UInt8
        let id: UInt32
        var bytes: [UInt8]
    }

    /// More than this is no parameter set of a camera or an encoder, and is not kept.
    private static let maximumCount = 32
    private static let maximumSize = 4096

    private var entries: [Entry] = []
    /// What the container declares, for parameter sets that declare no colours.
    private let declared: VideoColor?
    /// Why frames of the last sequence parameter set cannot be passed on.
    private(set) var obstacle: PassThroughObstacle?
    /// Whether colours were added to a parameter set as it came.
    private(set) var addsColor = false

    init(declared: VideoColor? = nil) { self.declared = declared }

    /// Whether a picture can be decoded with them.
    var isComplete: Bool {
        entries.contains { $0.type == H264UnitType.sequenceParameterSet }
            && entries.contains { $0.type == H264UnitType.pictureParameterSet }
    }

    /// In Annex B, sequence parameter sets first.
    var annexB: [UInt8] {
        [H264UnitType.sequenceParameterSet, H264UnitType.pictureParameterSet].flatMap { type in
            entries.filter { $0.type == type }.flatMap { [0, 0, 0, 1] + $0.bytes }
        }
    }

    /// Of the last sequence parameter set.
    var profile: H264Profile? {
        guard let set = entries.last(where: { $0.type == H264UnitType.sequenceParameterSet }), set.bytes.count >= 4
        else { return nil }
        return H264Profile(number: set.bytes[1], constraints: set.bytes[2])
    }

    /// Takes over those of an access unit; each replaces the one of its number.
    mutating func remember(from accessUnit: UnsafeRawBufferPointer) {
        var reader = H264UnitReader(accessUnit)
        while let unit = reader.next() {
            let type = unit[0] & H264UnitType.mask
            guard type == H264UnitType.sequenceParameterSet || type == H264UnitType.pictureParameterSet,
                unit.count <= Self.maximumSize
            else { continue }
            let bytes = type == H264UnitType.sequenceParameterSet ? learn(unit) : Array(unit)
            // The number stands behind profile, constraints and level, or at once (sections 7.3.2.1.1 and 7.3.2.2).
            var window = H264BitWindow(unit, offset: type == H264UnitType.sequenceParameterSet ? 4 : 1)
            guard let id = window.unsignedExponentialGolomb(), id < 256 else { continue }
            if let index = entries.firstIndex(where: { $0.type == type && $0.id == id }) {
                if entries[index].bytes != bytes { entries[index].bytes = bytes }
            } else if entries.count < Self.maximumCount {
                entries.append(Entry(type: type, id: id, bytes: bytes))
            }
        }
    }

    /// Notes what a sequence parameter set declares.
    ///
    /// - Returns: the set, with colours where it declares none and a viewer would take others for them.
    private mutating func learn(_ unit: UnsafeRawBufferPointer) -> [UInt8] {
        let described = described(unit)
        addsColor = addsColor || described != nil
        if let set = H264SequenceParameterSet(unit) {
            let square = set.sampleAspectRatio?.squareDimensions(of: set.dimensions) ?? set.dimensions
            obstacle = !set.isProgressive ? .interlaced : square != set.dimensions ? .anamorphic : nil
        }
        return described ?? Array(unit)
    }

    /// A sequence parameter set with colours added; nil where it declares them, or where nobody reads them wrongly.
    ///
    /// Receivers take BT.601 for what is not declared. That is wrong of high definition, and where a container declares
    /// something else.
    func described(_ unit: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let set = H264SequenceParameterSet(unit), set.matrixCode == nil else { return nil }
        let assumed = VideoColor.assumed(for: set.dimensions)
        guard declared != nil || assumed.matrix != .bt601 else { return nil }
        return set.describing(declared ?? assumed)
    }

    /// Sequence and picture parameter sets alone, in Annex B, as containers want them apart.
    static func annexB(in bytes: [UInt8]) -> [UInt8] {
        var sets = H264ParameterSets()
        bytes.withUnsafeBytes { sets.remember(from: $0) }
        return sets.annexB
    }

    /// The first sequence parameter set of an access unit; nil without one that can be read.
    static func sequenceParameterSet(in bytes: [UInt8]) -> H264SequenceParameterSet? {
        bytes.withUnsafeBytes { bytes in
            var reader = H264UnitReader(bytes)
            while let unit = reader.next() {
                if let set = H264SequenceParameterSet(unit) { return set }
            }
            return nil
        }
    }
}
