import PCastCore

/// Converts access units with lengths to Annex B, with parameter sets before frames at which decoding can begin.
struct AnnexBConversion {
    /// The role of a NAL unit in the conversion.
    enum Unit {
        /// A slice with which decoding can begin.
        case randomAccess
        /// A sequence parameter set.
        case sequenceParameterSet
        /// An access unit delimiter, which parameter sets must not precede.
        case delimiter
        /// Any other unit.
        case other
    }

    /// The size of a NAL unit's length in bytes, 1 to 4.
    let lengthSize: Int
    /// The parameter sets of the codec configuration in Annex B format.
    let parameterSets: [UInt8]

    /// Converts an access unit.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message.
    ///   - range: The range of the access unit.
    ///   - role: A closure that returns the role of a unit from its first byte.
    /// - Returns: The access unit and whether decoding can begin with it; nil if it has no NAL units or a length is
    ///   invalid.
    func convert(
        _ payload: [UInt8], _ range: Range<Int>, _ role: (UInt8) -> Unit
    ) -> (bytes: [UInt8], isKeyFrame: Bool)? {
        payload.withByteView { buffer in
            let data = buffer.extracting(range)
            var isKeyFrame = false
            var hasSequenceParameterSet = false
            var count = 0
            // Only the headers are read at first, because parameter sets may have to come before.
            guard let isAnnexB = isAnnexB(data) else { return nil }
            forEachUnit(of: data, isAnnexB: isAnnexB) { unit in
                count += 1
                switch role(unit[0]) {
                case .randomAccess: isKeyFrame = true
                case .sequenceParameterSet: hasSequenceParameterSet = true
                case .delimiter, .other: break
                }
            }
            guard count > 0 else { return nil }
            var missing = isKeyFrame && !hasSequenceParameterSet ? parameterSets[...] : []
            var bytes: [UInt8] = []
            bytes.reserveCapacity(missing.count + data.count + 4 * count)
            forEachUnit(of: data, isAnnexB: isAnnexB) { unit in
                if !missing.isEmpty, role(unit[0]) != .delimiter {
                    bytes += missing
                    missing = []
                }
                bytes += AnnexBReader.startCode
                bytes += unit
            }
            return (bytes, isKeyFrame)
        }
    }

    /// Returns whether an access unit has start codes in place of lengths, as some encoders write it. Returns nil if it
    /// has neither.
    private func isAnnexB(_ data: ByteView) -> Bool? {
        var reader = LengthPrefixedReader(data, lengthSize: lengthSize)
        while reader.nextUnit() != nil {}
        guard reader.isMalformed else { return false }
        return data.starts(with: AnnexBReader.startCode) || data.starts(with: AnnexBReader.startCode.dropFirst())
            ? true : nil
    }

    private func forEachUnit(
        of data: ByteView, isAnnexB: Bool, _ body: (ByteView) -> Void
    ) {
        if isAnnexB {
            var reader = AnnexBReader(data)
            while let unit = reader.nextUnit() { body(unit) }
        } else {
            var reader = LengthPrefixedReader(data, lengthSize: lengthSize)
            while let unit = reader.nextUnit() { body(unit) }
        }
    }
}
