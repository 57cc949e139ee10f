/// How brightness and colours of a picture are made of red, green and blue (ITU-T H.273, table 4).
public enum MatrixCoefficients: Hashable, Sendable {
    /// ITU-R BT.601: cameras, and what nothing is said of (H.273, 5 and 6).
    case bt601
    /// ITU-R BT.709: films and television of high definition (H.273, 1).
    case bt709
}
