public import PCastJSON

/// What became of verifying a digest token.
public struct DigestTokenVerification: Hashable, Sendable {
    /// The result codes of the public libraries.
    public enum Code: String, Hashable, Sendable {
        case verified
        /// It does not begin with `DIGEST:`.
        case notADigestToken = "not-a-digest-token"
        /// It cannot be decoded, or lacks its application, digest or body.
        case badToken = "bad-token"
        /// Another secret signed it, or it was changed.
        case badDigest = "bad-digest"
        /// Rightly signed, but the body is not a JSON object.
        case serverError = "server-error"
    }

    public let code: Code

    /// The body with `applicationId` added, in the signer's order; nil unless verified.
    public let value: JSONObject?

    init(code: Code, value: JSONObject? = nil) {
        self.code = code
        self.value = value
    }

    public var isVerified: Bool { code == .verified }

    /// The verified body; nil too when a field of it is not of its type (see ``EdgeToken/init(_:)``).
    public var token: EdgeToken? { value.flatMap { EdgeToken($0) } }
}
