public import PCastJSON

/// The result of verifying a digest token.
public struct DigestTokenVerification: Hashable, Sendable {
    /// The result codes, with the raw values of the public EdgeAuth libraries.
    public enum Code: String, Hashable, Sendable {
        /// The signature is valid.
        case verified
        /// The text does not begin with `DIGEST:`.
        case notADigestToken = "not-a-digest-token"
        /// The text cannot be decoded, or lacks the application ID, the digest or the body.
        case badToken = "bad-token"
        /// The digest does not match the body, because another secret signed it or it was changed.
        case badDigest = "bad-digest"
        /// The digest matches, but the body is not a JSON object.
        case serverError = "server-error"
    }

    /// The result code.
    public let code: Code

    /// The body with `applicationId` added, in the order of the signer; nil unless the token was verified.
    public let value: JSONObject?

    init(code: Code, value: JSONObject? = nil) {
        self.code = code
        self.value = value
    }

    /// Whether the signature is valid.
    public var isVerified: Bool { code == .verified }

    /// The verified body; nil unless the token was verified and all its fields have the right type (see
    /// ``EdgeToken/init(_:)``).
    public var token: EdgeToken? { value.flatMap { EdgeToken($0) } }
}
