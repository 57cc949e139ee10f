internal import PCastCore

/// An H.264 access unit in the form that the container stores: each NAL unit after its length (ISO/IEC 14496-15, section
/// 5.2.3).
///
/// Parameter sets remain in the sample although the initialization segment has them too, because some players ignore a
/// second initialization segment.
package struct H264Sample: Hashable, Sendable {
    /// The number of bytes of each length.
    static let lengthSize = 4

    /// The NAL units with their lengths. Delimiters and filler data are left out.
    package private(set) var bytes: [UInt8] = []
    /// The sequence parameter sets in the access unit, without repetitions.
    package private(set) var sequenceSets: [[UInt8]] = []
    /// The picture parameter sets in the access unit, without repetitions.
    package private(set) var pictureSets: [[UInt8]] = []
    /// Whether the access unit contains a slice of an IDR picture.
    package private(set) var isIDR = false
    /// Whether the access unit contains a slice.
    package private(set) var hasSlice = false

    /// Converts an access unit in Annex B format.
    package init(annexB accessUnit: [UInt8]) {
        bytes.reserveCapacity(accessUnit.count + 16)
        accessUnit.withByteView { source in
            var reader = AnnexBReader(source)
            while let unit = reader.nextUnit() { append(unit) }
        }
    }

    private mutating func append(_ unit: ByteView) {
        let type = unit[0] & H264NALUnit.typeMask
        switch type {
        case H264NALUnit.accessUnitDelimiter, H264NALUnit.fillerData: return
        case H264NALUnit.sequenceParameterSet: Self.add(Array(unit), to: &sequenceSets)
        case H264NALUnit.pictureParameterSet: Self.add(Array(unit), to: &pictureSets)
        case _ where H264NALUnit.isImage(type):
            hasSlice = true
            isIDR = isIDR || type == H264NALUnit.idrSlice
        default: break
        }
        bytes.append(unitLength: unit.count)
        bytes.append(contentsOf: unit)
    }

    private static func add(_ set: [UInt8], to sets: inout [[UInt8]]) {
        if !sets.contains(set) { sets.append(set) }
    }

    /// Inserts the parameter sets of a format before all units, for an IDR picture without its own.
    mutating func insert(_ format: H264Format) {
        let sets = H264Sample(annexB: (format.sequenceSets + format.pictureSets).flatMap { [0, 0, 0, 1] + $0 })
        bytes = sets.bytes + bytes
        sequenceSets = format.sequenceSets
        pictureSets = format.pictureSets
    }

    /// The format by the parameter sets of the access unit; nil if they are missing or invalid.
    package var format: H264Format? { H264Format(sequenceSets: sequenceSets, pictureSets: pictureSets) }
}
