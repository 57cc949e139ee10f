/// The matrix that converts between RGB and luma and chroma (ITU-T H.273, table 4).
public enum MatrixCoefficients: Hashable, Sendable {
    /// ITU-R BT.601 (H.273, code points 5 and 6). Cameras use it, and it is the default.
    case bt601
    /// ITU-R BT.709 for high-definition video (H.273, code point 1).
    case bt709
}
