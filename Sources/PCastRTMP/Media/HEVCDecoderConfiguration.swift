/// The HEVCDecoderConfigurationRecord, the header of H.265 in MP4 and FLV (ISO/IEC 14496-15, section 8.3.3.1).
package struct HEVCDecoderConfiguration: Hashable, Sendable {
    /// The parameter sets in Annex B format, in the order of the record: video, sequence and picture parameter sets.
    package private(set) var parameterSets: [UInt8] = []
    /// The size of a NAL unit's length in bytes, 1 to 4.
    package let lengthSize: Int

    /// The size of the record before its arrays in bytes.
    private static let fixedSize = 23

    /// Parses a record. Returns nil for anything else, also if it is truncated.
    package init?(_ record: [UInt8]) {
        guard record.count >= Self.fixedSize, record[0] == 1 else { return nil }
        lengthSize = Int(record[21] & 3) + 1
        var reader = ByteReader(record, from: 22)
        let count = reader.uint8() ?? 0
        for _ in 0..<count {
            guard let type = reader.uint8(), let unitCount = reader.uint16() else { return nil }
            for _ in 0..<unitCount {
                guard let length = reader.uint16(), let unit = reader.bytes(Int(length)) else { return nil }
                guard HEVCUnit.parameterSets.contains(type & 0x3F) else { continue }
                parameterSets += [0, 0, 0, 1] + unit
            }
        }
    }
}

/// Constants of the NAL units of H.265 (ITU-T H.265, table 7-1).
enum HEVCUnit {
    /// The types of slices with which decoding can begin (intra random access points).
    static let randomAccessPoints: ClosedRange<UInt8> = 16...21
    /// The types of video, sequence and picture parameter sets.
    static let parameterSets: ClosedRange<UInt8> = 32...34
    /// The type of a sequence parameter set.
    static let sequenceParameterSet: UInt8 = 33
    /// The type of an access unit delimiter.
    static let accessUnitDelimiter: UInt8 = 35

    /// Returns the type of a unit from its first byte.
    static func type(_ header: UInt8) -> UInt8 { header >> 1 & 0x3F }
}
