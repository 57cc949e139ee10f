import PCastCore

/// The parameter sets of an H.264 stream, with a color description added where viewers would show wrong colors. They
/// are inserted before key frames without parameter sets, because a viewer that joins there could not decode them.
struct H264ParameterSetCache: Sendable {
    private var sets = H264ParameterSets()
    /// The number of parameter sets so far, which is their order.
    private var count: Int64 = 0
    /// The color description of the container, for sequence parameter sets without one.
    private let declared: VideoColor?
    /// The profile of the last sequence parameter set; nil without one.
    private(set) var profile: H264ProfileIDC?
    /// The reason why frames with the last sequence parameter set cannot be passed through; nil if they can.
    private(set) var transcodeReason: TranscodeReason?
    /// Whether a color description was added to a parameter set.
    private(set) var addsColor = false

    init(declared: VideoColor? = nil) { self.declared = declared }

    /// Whether there is a picture parameter set with its sequence parameter set.
    var isComplete: Bool { sets.isComplete }

    /// The parameter sets in Annex B, sequence parameter sets first.
    var annexB: [UInt8] { sets.annexB }

    /// Stores the parameter sets of an access unit. Each one replaces the previous one with its ID.
    mutating func remember(from accessUnit: ByteView) {
        var reader = AnnexBReader(accessUnit)
        while let unit = reader.nextUnit() {
            let bytes = unit.span
            guard H264NALUnit.isParameterSet(bytes[0] & H264NALUnit.typeMask) else { continue }
            count += 1
            if let described = learn(bytes) {
                sets.remember(described.span, order: count)
            } else {
                sets.remember(bytes, order: count)
            }
        }
    }

    /// Records what a sequence parameter set declares. Returns the set with a color description added; nil if it stays
    /// as it is.
    private mutating func learn(_ unit: Span<UInt8>) -> [UInt8]? {
        if unit[0] & H264NALUnit.typeMask == H264NALUnit.sequenceParameterSet, unit.count >= 4 {
            profile = H264ProfileIDC(number: unit[1], constraints: unit[2])
        }
        guard let set = H264SequenceParameterSet(unit) else { return nil }
        let square = set.sampleAspectRatio?.squareDimensions(of: set.dimensions) ?? set.dimensions
        transcodeReason = !set.isProgressive ? .interlaced : square != set.dimensions ? .anamorphic : nil
        let described = described(set, unit)
        addsColor = addsColor || described != nil
        return described
    }

    /// Returns a sequence parameter set with a color description added; nil if it has one or does not need one.
    func described(_ unit: Span<UInt8>) -> [UInt8]? {
        H264SequenceParameterSet(unit).flatMap { described($0, unit) }
    }

    /// Returns a sequence parameter set with a color description added; nil if it has one or does not need one.
    /// Receivers assume BT.601 without a description, which is wrong for high definition and for containers that
    /// declare another one.
    private func described(_ set: H264SequenceParameterSet, _ unit: Span<UInt8>) -> [UInt8]? {
        guard set.matrixCode == nil else { return nil }
        let assumed = VideoColor.assumed(for: set.dimensions)
        guard declared != nil || assumed.matrix != .bt601 else { return nil }
        return set.describing(declared ?? assumed, in: unit)
    }

    /// Returns the sequence and picture parameter sets of an access unit in Annex B, as containers require them.
    static func annexB(in bytes: [UInt8]) -> [UInt8] {
        var sets = H264ParameterSetCache()
        bytes.withByteView { sets.remember(from: $0) }
        return sets.annexB
    }

    /// Returns the first sequence parameter set of an access unit; nil if none can be parsed.
    static func sequenceParameterSet(in bytes: [UInt8]) -> H264SequenceParameterSet? {
        bytes.withByteView { bytes in
            var reader = AnnexBReader(bytes)
            while let unit = reader.nextUnit() {
                if let set = H264SequenceParameterSet(unit.span) { return set }
            }
            return nil
        }
    }
}
