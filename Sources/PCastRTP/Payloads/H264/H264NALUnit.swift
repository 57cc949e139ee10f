/// Constants of H.264's NAL units (ITU-T H.264, table 7-1) and of their RTP payloads (RFC 6184, table 1).
enum H264NALUnit {
    /// The type of a slice of a frame other than an IDR picture.
    static let nonIDRSlice: UInt8 = 1
    /// The type of a slice of an IDR picture.
    static let idrSlice: UInt8 = 5
    /// The type of a sequence parameter set.
    static let sequenceParameterSet: UInt8 = 7
    /// The type of a picture parameter set.
    static let pictureParameterSet: UInt8 = 8
    /// The type of an access unit delimiter.
    static let accessUnitDelimiter: UInt8 = 9
    /// The type of filler data.
    static let fillerData: UInt8 = 12
    /// The type of an aggregation packet of the kind STAP-A.
    static let stapA: UInt8 = 24
    /// The type of a fragmentation unit of the kind FU-A.
    static let fuA: UInt8 = 28

    /// The bits of the type in the unit's header.
    static let typeMask: UInt8 = 0x1F
    /// The bits of `nal_ref_idc` in the unit's header.
    static let referenceMask: UInt8 = 0x60
    /// The bit that marks a unit with errors in the unit's header.
    static let forbiddenBit: UInt8 = 0x80

    /// The start bit in the FU header (RFC 6184, section 5.8).
    static let fragmentStart: UInt8 = 0x80
    /// The end bit in the FU header (RFC 6184, section 5.8).
    static let fragmentEnd: UInt8 = 0x40

    /// Returns whether a type is one of H.264 itself, whose units may be a payload or part of an aggregate.
    static func isSingle(_ type: UInt8) -> Bool { type >= 1 && type <= 23 }

    /// Returns whether a unit contains a slice or a data partition.
    static func isImage(_ type: UInt8) -> Bool { type >= 1 && type <= 5 }

    /// Returns whether a unit precedes the slices of a frame: supplemental enhancement information, parameter sets,
    /// delimiters.
    static func precedesSlice(_ type: UInt8) -> Bool { (6...9).contains(type) || type == 13 || type == 15 }

    /// Returns whether a unit is a sequence or picture parameter set.
    static func isParameterSet(_ type: UInt8) -> Bool { type == sequenceParameterSet || type == pictureParameterSet }
}
