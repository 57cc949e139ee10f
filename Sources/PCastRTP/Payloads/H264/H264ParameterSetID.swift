/// The ID of a parameter set, and which one it refers to (ITU-T H.264, sections 7.3.2.1.1 and 7.3.2.2).
struct H264ParameterSetID {
    let isSequence: Bool
    let id: UInt32
    /// Its own ID for a sequence parameter set.
    let sequenceID: UInt32

    /// Nil for other NAL units, and where it ends too early or names what cannot be.
    init?(_ unit: Span<UInt8>) {
        guard !unit.isEmpty else { return nil }
        switch unit[0] & H264NALUnit.typeMask {
        case H264NALUnit.sequenceParameterSet:
            // Behind profile, constraints and level.
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

    /// The picture parameter set that a slice refers to (section 7.3.3); nil where its header ends too early.
    ///
    /// - Parameter offset: of the slice header, behind the header of the NAL unit.
    static func ofSlice(_ payload: Span<UInt8>, at offset: Int) -> UInt32? {
        var reader = H264BitReader(offset: offset)
        _ = reader.unsignedExponentialGolomb(payload)
        _ = reader.unsignedExponentialGolomb(payload)
        let id = reader.unsignedExponentialGolomb(payload)
        return reader.isExhausted || id > 255 ? nil : id
    }
}
