/// The HEVCDecoderConfigurationRecord, the header of H.265 in MP4 and FLV. In these containers, each NAL unit starts with
/// its length (ISO/IEC 14496-15, section 8.3.3.1).
package struct HEVCDecoderConfiguration: Hashable, Sendable {
    /// The parameter sets in Annex B format, in the order of the record: video, sequence and picture parameter sets.
    package private(set) var parameterSets: [UInt8] = []
    /// The size of a NAL unit's length in bytes, 1 to 4.
    package let lengthSize: Int

    /// The size of the record before its arrays in bytes.
    private static let fixedSize = 23

    /// Parses a record. Returns nil for anything else, also if it is truncated.
    package init?(_ record: ByteView) {
        guard record.count >= Self.fixedSize, record[0] == 1 else { return nil }
        lengthSize = Int(record[21] & 3) + 1
        var offset = Self.fixedSize
        func uint16(at offset: Int) -> Int? {
            offset + 2 <= record.count ? Int(record[offset]) << 8 | Int(record[offset + 1]) : nil
        }
        for _ in 0..<record[Self.fixedSize - 1] {
            guard offset < record.count, let unitCount = uint16(at: offset + 1) else { return nil }
            let type = record[offset] & 0x3F
            offset += 3
            for _ in 0..<unitCount {
                guard let length = uint16(at: offset), length <= record.count - offset - 2 else { return nil }
                if HEVCUnit.parameterSets.contains(type) {
                    parameterSets += AnnexBReader.startCode + record.extracting(offset + 2..<offset + 2 + length)
                }
                offset += 2 + length
            }
        }
    }

    /// Creates a configuration from the NAL units of the parameter sets, for containers without a record. Lengths have four
    /// bytes. Returns nil unless there are sets of all three kinds.
    package init?(video: [[UInt8]], sequence: [[UInt8]], picture: [[UInt8]]) {
        guard !video.isEmpty, !sequence.isEmpty, !picture.isEmpty else { return nil }
        lengthSize = 4
        for unit in video + sequence + picture { parameterSets += AnnexBReader.startCode + unit }
    }

    /// Returns an access unit with start codes in place of lengths. Returns nil if the lengths are invalid.
    package func annexB(_ accessUnit: ByteView) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(accessUnit.count + 32)
        var reader = LengthPrefixedReader(accessUnit, lengthSize: lengthSize)
        while let unit = reader.nextUnit() {
            bytes += AnnexBReader.startCode
            bytes += unit
        }
        return reader.isMalformed ? nil : bytes
    }
}

/// Constants of the NAL units of H.265 (ITU-T H.265, table 7-1).
package enum HEVCUnit {
    /// The types of leading frames, which precede the random access point that they follow in presentation order.
    package static let leadingFrames: ClosedRange<UInt8> = 6...9
    /// The types of leading frames that refer to frames before the random access point, too (RASL_N, RASL_R).
    package static let skippedLeadingFrames: ClosedRange<UInt8> = 8...9
    /// The types of slices with which decoding can begin (intra random access points).
    package static let randomAccessPoints: ClosedRange<UInt8> = 16...21
    /// The types of slices.
    package static let slices: ClosedRange<UInt8> = 0...31
    /// The types of video, sequence and picture parameter sets.
    package static let parameterSets: ClosedRange<UInt8> = 32...34
    /// The type of a video parameter set.
    package static let videoParameterSet: UInt8 = 32
    /// The type of a sequence parameter set.
    package static let sequenceParameterSet: UInt8 = 33
    /// The type of a picture parameter set.
    package static let pictureParameterSet: UInt8 = 34
    /// The type of an access unit delimiter.
    package static let accessUnitDelimiter: UInt8 = 35
    /// The type of filler data.
    package static let fillerData: UInt8 = 38
    /// The first of the types that RTP payloads use for packets of their own (RFC 7798, section 4.4).
    package static let firstUnspecified: UInt8 = 48
    /// The size of the header in bytes.
    package static let headerSize = 2

    /// Returns the type of a unit from its first byte.
    package static func type(_ header: UInt8) -> UInt8 { header >> 1 & 0x3F }
}
