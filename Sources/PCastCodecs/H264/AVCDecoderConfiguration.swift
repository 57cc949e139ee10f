/// The AVCDecoderConfigurationRecord, the header of H.264 in MP4 and FLV. In these containers, each NAL unit starts
/// with its length (ISO/IEC 14496-15, section 5.3.3.1).
struct AVCDecoderConfiguration {
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The parameter sets in Annex B.
    private(set) var parameterSets: [UInt8] = []
    private let lengthSize: Int

    /// Parses a record. Returns nil for anything else; a truncated record gives the parameter sets that it contains.
    init?(_ record: UnsafeRawBufferPointer) {
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
                parameterSets += Self.startCode + record[index..<index + length]
                index += length
            }
        }
    }

    /// Returns an access unit with start codes in place of lengths. Returns nil if the lengths are invalid.
    func annexB(_ accessUnit: UnsafeRawBufferPointer) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(accessUnit.count + 32)
        var index = 0
        while index < accessUnit.count {
            guard index + lengthSize <= accessUnit.count else { return nil }
            let length = accessUnit[index..<index + lengthSize].reduce(0) { $0 << 8 | Int($1) }
            index += lengthSize
            guard length <= accessUnit.count - index else { return nil }
            if length > 0 {
                bytes += Self.startCode
                bytes += accessUnit[index..<index + length]
            }
            index += length
        }
        return bytes
    }
}
