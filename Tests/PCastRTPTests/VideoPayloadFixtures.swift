import PCastCore
import PCastRTP

/// Encoded frames of VP9, AV1 and H.265 of 208x120 pixels. The headers and vectors were written by the encoders that
/// are named, through FFmpeg 5.1 (`color=gray:size=208x120`).
enum VideoPayloadFixtures {
    static let size = Dimensions(width: 208, height: 120)

    /// Returns the bytes of a hexadecimal text.
    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    // MARK: VP9

    /// A key frame and the frame after it by libvpx 1.12, profile 0.
    static let vpxKeyFrame = bytes(
        "82498342000cf007761238241c18c600002040006b08f402705380e894a4af9f1ff9c27b0c00")
    static let vpxFrame = bytes("860040929cd058c000037000005a365c8bb600")
    /// A key frame by libvpx 1.12, profile 2 with 10 bits.
    static let vpxDeepKeyFrame = bytes(
        "9249834200067803bb091c120e0c6400002043d400006c49eaa444fc1b88c9f2dc42f31e491f04f6944909f87ea6de6b4239f24a4195"
            + "51eebd00")

    /// Returns a frame with the header of libvpx.
    static func vp9Frame(key: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        (key ? vpxKeyFrame.prefix(12) : vpxFrame.prefix(4)) + random.nonZeroBytes(size)
    }

    // MARK: AV1

    /// A temporal unit with a key frame by libaom 3.6, level 2.0, and the one after it.
    static let aomKeyFrame = bytes(
        "12000a0a00000003b67f736be401321f10008440020820880002c1b4ab975f07f0e414dcab17445d1bcb23ef4c0140")
    static let aomFrame = bytes("1200321730038080fdf8069a804f3cf38b112080009746ba3f6a68")
    /// A temporal unit with a key frame by SVT-AV1 1.4.
    static let svtKeyFrame = bytes(
        "12000a0a00000003b67f73efe401321c100087408041041000008097d71c110108dac3369063877abb97a34a")
    /// A temporal unit with a key frame by rav1e 0.5.
    static let rav1eKeyFrame = bytes(
        "12000a0e000000f9db3fb8842a2040404280322a100227c8e27ebb78d800042a03eb000000000000104104041044b454cb9df9dfd51d"
            + "aaf2ff366075e590")

    /// Returns a temporal unit with the sequence header of libaom.
    static func av1TemporalUnit(key: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        let count = size + 1
        let prefix: [UInt8] = count < 0x80 ? [UInt8(count)] : [UInt8(count & 0x7F | 0x80), UInt8(count >> 7)]
        return (key ? aomKeyFrame.prefix(14) : aomKeyFrame.prefix(2)) + [0x32] + prefix + [key ? 0x10 : 0x30]
            + random.nonZeroBytes(size)
    }

    // MARK: H.265

    /// The parameter sets of x265 3.5, Main, level 2.
    static let videoSet = bytes("40010c01ffff01600000030090000003000003003c928090")
    static let sequenceSet = bytes(
        "42010101600000030090000003000003003ca01a20796592a4932bc05a020000030002000003003210")
    static let pictureSet = bytes("4401c172b46240")
    /// The slice of a random access point by x265 with type `IDR_N_LP`.
    static let idrSlice = bytes("2801af1d44c8f701b2f5afb1c007f44ca50988ab280000030019a00001040002f564")

    /// Returns an access unit with the parameter sets of x265.
    static func h265AccessUnit(key: Bool, size: Int, using random: inout PayloadRandom) -> [UInt8] {
        let slice = (key ? [0x28, 0x01, 0xAF] : [0x02, 0x01, 0xD0]) + random.nonZeroBytes(size)
        return H264Fixtures.annexB(key ? [videoSet, sequenceSet, pictureSet, slice] : [slice])
    }
}
