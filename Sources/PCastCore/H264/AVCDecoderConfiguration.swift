/// The AVCDecoderConfigurationRecord, the header of H.264 in MP4 and FLV. In these containers, each NAL unit starts
/// with its length (ISO/IEC 14496-15, section 5.3.3.1).
package struct AVCDecoderConfiguration: Hashable, Sendable {
    /// The parameter sets in Annex B format.
    package private(set) var parameterSets: [UInt8] = []
    /// The size of a NAL unit's length in bytes, 1 to 4.
    package let lengthSize: Int

    /// Parses a record. Returns nil for anything else; a truncated record gives the parameter sets that it contains.
    package init?(_ record: ByteView) {
        guard record.count >= 7, record[0] == 1 else { return nil }
        lengthSize = Int(record[4] & 3) + 1
        var index = 5
        for mask: UInt8 in [0x1F, 0xFF] {
            guard index < record.count else { return }
            let count = record[index] & mask
            index += 1
            for _ in 0..<count {
                guard index + 2 <= record.count else { return }
                let length = Int(record[index]) << 8 | Int(record[index + 1])
                index += 2
                guard index + length <= record.count else { return }
                parameterSets += AnnexBReader.startCode + record.extracting(index..<index + length)
                index += length
            }
        }
    }

    /// The first sequence parameter set that can be parsed; nil if there is none.
    package var sequenceParameterSet: H264SequenceParameterSet? {
        parameterSets.withByteView { bytes in
            var reader = AnnexBReader(bytes)
            while let unit = reader.next() {
                if let set = H264SequenceParameterSet(parameterSets.span.extracting(unit)) { return set }
            }
            return nil
        }
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

/// Iterates over NAL units that each start with their length, without copying (ISO/IEC 14496-15, section 5.3.4.2).
package struct LengthPrefixedReader {
    private let bytes: ByteView
    private let lengthSize: Int
    private var position = 0

    /// Whether a length is truncated or exceeds the bytes. No unit is returned afterwards.
    package private(set) var isMalformed = false

    /// Creates a reader at the first NAL unit.
    ///
    /// - Parameters:
    ///   - bytes: The NAL units, which must be valid while the reader is used.
    ///   - lengthSize: The size of a length in bytes, 1 to 4.
    package init(_ bytes: ByteView, lengthSize: Int) {
        precondition((1...4).contains(lengthSize), "a length has one to four bytes")
        self.bytes = bytes
        self.lengthSize = lengthSize
    }

    /// Returns the next NAL unit; nil after the last one or if a length is invalid. Empty units are skipped.
    package mutating func nextUnit() -> ByteView? {
        while position < bytes.count, !isMalformed {
            guard position + lengthSize <= bytes.count else { return fail() }
            var length = 0
            for index in position..<position + lengthSize { length = length << 8 | Int(bytes[index]) }
            position += lengthSize
            guard length <= bytes.count - position else { return fail() }
            guard length > 0 else { continue }
            defer { position += length }
            return bytes.extracting(position..<position + length)
        }
        return nil
    }

    private mutating func fail() -> ByteView? {
        isMalformed = true
        return nil
    }
}
