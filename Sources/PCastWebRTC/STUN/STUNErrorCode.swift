/// The error codes of binding answers (RFC 8489, section 14.8; RFC 8445, section 16.2).
public enum STUNErrorCode {
    /// The request lacks an attribute that it needs.
    public static let badRequest = 400

    /// The user name is not known or the integrity does not verify.
    public static let unauthenticated = 401

    /// The request holds a comprehension-required attribute that is not known.
    public static let unknownAttribute = 420

    /// Both agents claim the same role.
    public static let roleConflict = 487
}
