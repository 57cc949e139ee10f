/// The ID of a parameter set and the one it refers to (ITU-T H.264, sections 7.3.2.1.1 and 7.3.2.2).
struct H264ParameterSetID {
    /// Whether it is a sequence parameter set.
    let isSequence: Bool
    /// The ID of the parameter set.
    let id: UInt32
    /// The ID of the sequence parameter set: its own, or the one that a picture parameter set refers to.
    let sequenceID: UInt32

    /// Parses a NAL unit. Returns nil if it is not a parameter set, is truncated or contains an invalid ID.
    init?(_ unit: Span<UInt8>) {
        guard !unit.isEmpty else { return nil }
        switch unit[0] & H264NALUnit.typeMask {
        case H264NALUnit.sequenceParameterSet:
            // The ID follows the profile, the constraint flags and the level.
            var reader = H264BitReader(offset: 4)
            id = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 32 else { return nil }
            (isSequence, sequenceID) = (true, id)
        case H264NALUnit.pictureParameterSet:
            var reader = H264BitReader(offset: 1)
            id = reader.unsignedExponentialGolomb(unit)
            sequenceID = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 256, sequenceID < 32 else { return nil }
            isSequence = false
        default: return nil
        }
    }

    /// Returns the ID of the picture parameter set that a slice refers to (section 7.3.3); nil if the slice header is
    /// truncated.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - offset: The offset of the slice header, after the header of the NAL unit.
    /// - Returns: The ID.
    static func ofSlice(_ payload: Span<UInt8>, at offset: Int) -> UInt32? {
        var reader = H264BitReader(offset: offset)
        _ = reader.unsignedExponentialGolomb(payload)
        _ = reader.unsignedExponentialGolomb(payload)
        let id = reader.unsignedExponentialGolomb(payload)
        return reader.isExhausted || id > 255 ? nil : id
    }
}
