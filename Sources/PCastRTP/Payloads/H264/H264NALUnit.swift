/// Numbers of H.264's network abstraction layer (ITU-T H.264, table 7-1) and of its RTP payloads (RFC 6184, table 1).
enum H264NALUnit {
    static let nonIDRSlice: UInt8 = 1
    static let idrSlice: UInt8 = 5
    static let sequenceParameterSet: UInt8 = 7
    static let pictureParameterSet: UInt8 = 8
    static let accessUnitDelimiter: UInt8 = 9
    static let fillerData: UInt8 = 12
    static let stapA: UInt8 = 24
    static let fuA: UInt8 = 28

    static let typeMask: UInt8 = 0x1F
    static let referenceMask: UInt8 = 0x60
    static let forbiddenBit: UInt8 = 0x80

    /// Of the FU header (RFC 6184, section 5.8).
    static let fragmentStart: UInt8 = 0x80
    static let fragmentEnd: UInt8 = 0x40

    /// NAL unit types of H.264 itself, which may stand alone in a payload or within an aggregate.
    static func isSingle(_ type: UInt8) -> Bool { type >= 1 && type <= 23 }

    /// A slice or data partition: part of a picture.
    static func isPicture(_ type: UInt8) -> Bool { type >= 1 && type <= 5 }

    /// Supplemental information, parameter sets, delimiters: what begins the access unit of the next picture.
    static func precedesPicture(_ type: UInt8) -> Bool { (6...9).contains(type) || type == 13 || type == 15 }

    static func isParameterSet(_ type: UInt8) -> Bool { type == sequenceParameterSet || type == pictureParameterSet }
}
