/// The error codes of binding responses (RFC 8489, section 14.8; RFC 8445, section 16.2).
package enum STUNErrorCode {
    /// The request lacks a required attribute.
    package static let badRequest = 400

    /// The username is unknown or the integrity check fails.
    package static let unauthenticated = 401

    /// The request contains an unknown attribute that must be understood.
    package static let unknownAttribute = 420

    /// Both agents have the same role.
    package static let roleConflict = 487
}
