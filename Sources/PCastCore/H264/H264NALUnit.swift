/// Constants of NAL units (ITU-T H.264, table 7-1).
package enum H264NALUnit {
    /// The type of a slice of a frame other than an IDR picture.
    package static var nonIDRSlice: UInt8 { 1 }
    /// The type of the first data partition of a slice.
    package static var partitionA: UInt8 { 2 }
    /// The type of the last data partition of a slice.
    package static var partitionC: UInt8 { 4 }
    /// The type of a slice of an IDR picture.
    package static var idrSlice: UInt8 { 5 }
    /// The type of supplemental enhancement information.
    package static var supplementalInformation: UInt8 { 6 }
    /// The type of a sequence parameter set.
    package static var sequenceParameterSet: UInt8 { 7 }
    /// The type of a picture parameter set.
    package static var pictureParameterSet: UInt8 { 8 }
    /// The type of an access unit delimiter.
    package static var accessUnitDelimiter: UInt8 { 9 }
    /// The type of filler data.
    package static var fillerData: UInt8 { 12 }
    /// The first of the types that H.264 leaves unspecified. RTP payloads use them for packets of their own (RFC 6184,
    /// table 1).
    package static var firstUnspecified: UInt8 { 24 }

    /// The bits of the type in the unit's header.
    package static var typeMask: UInt8 { 0x1F }
    /// The bits of `nal_ref_idc` in the unit's header.
    package static var referenceMask: UInt8 { 0x60 }
    /// The bit that marks a unit with errors in the unit's header.
    package static var forbiddenBit: UInt8 { 0x80 }

    /// Returns whether a type is specified by H.264.
    package static func isSpecified(_ type: UInt8) -> Bool { type >= 1 && type < firstUnspecified }

    /// Returns whether a unit contains a slice or a data partition.
    package static func isImage(_ type: UInt8) -> Bool { type >= nonIDRSlice && type <= idrSlice }

    /// Returns whether a unit precedes the slices of a frame: supplemental enhancement information, parameter sets,
    /// delimiters.
    package static func precedesSlice(_ type: UInt8) -> Bool {
        (6...9).contains(type) || type == 13 || type == 15
    }

    /// Returns whether a unit is a sequence or picture parameter set.
    package static func isParameterSet(_ type: UInt8) -> Bool {
        type == sequenceParameterSet || type == pictureParameterSet
    }
}

/// An H.264 profile as in a sequence parameter set (ITU-T H.264, annex A).
package struct H264ProfileIDC: Hashable, Sendable, CustomStringConvertible {
    /// The value of `profile_idc`.
    package let number: UInt8
    /// The six constraint flags, with `constraint_set0_flag` as the highest bit, and two reserved bits.
    package let constraints: UInt8

    /// Creates a profile from `profile_idc` and the byte of constraint flags.
    package init(number: UInt8, constraints: UInt8) {
        self.number = number
        self.constraints = constraints
    }

    /// Whether WebRTC receivers decode it: 4:2:0 with 8 bits, without data partitioning.
    package var isWidelyDecodable: Bool { [66, 77, 100].contains(number) }

    /// The name of the profile, such as `Constrained Baseline`.
    package var name: String {
        switch number {
        case 66: constraints & 0x40 != 0 ? "Constrained Baseline" : "Baseline"
        case 77: "Main"
        case 88: "Extended"
        case 100: constraints & 0x0C == 0x0C ? "Constrained High" : "High"
        case 110: "High 10"
        case 122: "High 4:2:2"
        case 244: "High 4:4:4 Predictive"
        default: "Profile \(number)"
        }
    }

    /// The name of the profile in a sentence, such as `constrained baseline`.
    package var description: String { name.lowercased() }
}

/// Iterates over the NAL units of a byte stream without copying (ITU-T H.264, annex B).
package struct AnnexBReader {
    /// A start code of four bytes.
    package static let startCode: [UInt8] = [0, 0, 0, 1]

    private let bytes: ByteView

    /// The offset of the next NAL unit, or the end.
    private var position: Int

    /// Creates a reader at the first NAL unit.
    ///
    /// - Parameter bytes: The byte stream, which must be valid while the reader is used.
    package init(_ bytes: ByteView) {
        self.bytes = bytes
        position = Self.startCode(in: bytes, from: 0).map { $0 + 3 } ?? bytes.count
    }

    /// Returns the range of the next NAL unit without trailing zero bytes; nil after the last. Empty units are skipped.
    package mutating func next() -> Range<Int>? {
        while position < bytes.count {
            let start = position
            let code = Self.startCode(in: bytes, from: start)
            position = code.map { $0 + 3 } ?? bytes.count
            var end = code ?? bytes.count
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            if end > start { return start..<end }
        }
        return nil
    }

    /// Returns the next NAL unit, as ``next()`` does.
    package mutating func nextUnit() -> ByteView? {
        next().map { bytes.extracting($0) }
    }

    /// Returns the offset of the first start code, 00 00 01, at or after an offset.
    ///
    /// It tests eight bytes at a time: a start code cannot begin in a word without zero bytes, which most words of
    /// coded video are.
    private static func startCode(in bytes: ByteView, from start: Int) -> Int? {
        var index = start
        let last = bytes.count - 3
        while index <= last {
            if index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 == 0 {
                    index += 8
                    continue
                }
            }
            let end = min(index + 8, last + 1)
            while index < end {
                if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 { return index }
                index += 1
            }
        }
        return nil
    }
}
