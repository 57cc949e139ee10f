/// The sequence and picture parameter sets that a stream sent last, in Annex B, to stand before an IDR picture that
/// came without them (COD4).
struct H264ParameterSets: Sendable {
    /// More than this is no parameter set of a camera or encoder, and is not kept.
    private static let maximumSize = 4096

    private(set) var bytes: [UInt8] = []

    /// Whether a sequence parameter set is known.
    private(set) var isComplete = false

    /// Takes over the sets of an access unit. Sequence parameter sets replace what was known; picture parameter sets
    /// alone are added to it.
    mutating func remember(from accessUnit: [UInt8]) {
        var found: [UInt8] = []
        var hasSequence = false
        accessUnit.withUnsafeBytes { source in
            var reader = AnnexBReader(source)
            while let unit = reader.next() {
                let type = source[unit.lowerBound] & H264NALUnit.typeMask
                guard H264NALUnit.isParameterSet(type) else { continue }
                if type == H264NALUnit.sequenceParameterSet { hasSequence = true }
                found.append(contentsOf: [0, 0, 0, 1])
                found.append(contentsOf: source[unit])
            }
        }
        guard found.count <= Self.maximumSize else { return }
        if hasSequence {
            bytes = found
            isComplete = true
        } else if isComplete, !found.isEmpty, bytes.suffix(found.count) != found[...],
            bytes.count + found.count <= Self.maximumSize
        {
            bytes += found
        }
    }
}
