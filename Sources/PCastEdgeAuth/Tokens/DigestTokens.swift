import Crypto
import FoundationEssentials
import PCastCore
public import PCastJSON

/// Signs and verifies digest tokens.
///
/// A token has this form:
///
///     "DIGEST:" + base64({"applicationId":…,"digest":…,"token":"<body as JSON text>"})
///
/// The digest is the HMAC-SHA-512 (RFC 2104) of the text of the body, byte for byte. Its key is the concatenation of
/// application ID and secret.
public enum DigestTokens {
    /// The maximum size of an encoded token in bytes. Larger ones are rejected without being decoded.
    public static let maximumEncodedSize = 16 * 1024

    private static let prefix = "DIGEST:"

    /// Signs the body of a token and encodes it.
    ///
    /// - Parameters:
    ///   - applicationID: The application that signs.
    ///   - secret: The secret of the application.
    ///   - token: The body, with an `expires` other than zero and without an `applicationId`.
    /// - Returns: The encoded token, `DIGEST:…`.
    /// - Throws: ``EdgeAuthError`` if a value is missing or not allowed, or the token is too large.
    public static func signAndEncode(
        applicationID: String, secret: String, token: JSONObject
    ) throws(EdgeAuthError) -> String {
        guard !applicationID.isEmpty else { throw .missingApplicationID }
        guard let expires = token["expires"]?.number, expires != 0 else { throw .missingExpiration }
        guard token["applicationId"] == nil else { throw .applicationIDInToken }
        let text = token.text
        let key = key(applicationID, secret)
        var envelope = JSONObject()
        envelope["applicationId"] = .string(applicationID)
        envelope["digest"] = .string(
            Base64.encode(Array(HMAC<SHA512>.authenticationCode(for: Array(text.utf8), using: key))))
        envelope["token"] = .string(text)
        let encoded = prefix + Base64.encode(Array(envelope.text.utf8))
        guard encoded.utf8.count <= maximumEncodedSize else { throw .tooLarge(byteCount: encoded.utf8.count) }
        return encoded
    }

    /// Returns an identifier of a token for logs that does not reveal it: 128 bits of its SHA-256 in hexadecimal.
    public static func fingerprint(of encoded: String) -> String {
        let digits = Array("0123456789abcdef")
        return SHA256.hash(data: Array(encoded.utf8)).prefix(16).reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    /// Returns an identifier of the application and the signed body of a token, in the form of ``fingerprint(of:)``; nil
    /// if the token cannot be decoded. All encodings of a token have the same one: its bearer may change the white space
    /// and the padding around the body, which are not signed.
    package static func contentFingerprint(of encoded: String) -> String? {
        envelope(of: encoded).map { fingerprint(of: $0.applicationID + "\u{0}" + $0.token) }
    }

    /// Verifies the signature of a token and decodes its body.
    ///
    /// The time does not depend on the digest. ``TokenAuthorization`` checks the expiration and the restrictions. Base
    /// 64 must be in the standard alphabet and canonical, but the padding may be missing; this is stricter than
    /// `Buffer.from` of Node.js.
    ///
    /// - Parameters:
    ///   - secret: The secret of the application.
    ///   - encoded: The encoded token.
    /// - Returns: The result code, and the body if the token was verified.
    public static func verifyAndDecode(secret: String, encoded: String) -> DigestTokenVerification {
        guard encoded.utf8.starts(with: prefix.utf8) else { return DigestTokenVerification(code: .notADigestToken) }
        guard let envelope = envelope(of: encoded) else { return DigestTokenVerification(code: .badToken) }
        guard let digest = Base64.decode(envelope.digest),
            HMAC<SHA512>.isValidAuthenticationCode(
                digest, authenticating: Array(envelope.token.utf8), using: key(envelope.applicationID, secret))
        else { return DigestTokenVerification(code: .badDigest) }
        guard var value = JSONObject(text: envelope.token) else { return DigestTokenVerification(code: .serverError) }
        value["applicationId"] = .string(envelope.applicationID)
        return DigestTokenVerification(code: .verified, value: value)
    }

    /// Returns the application ID in a token that is not verified, by which the caller finds the secret; nil if the
    /// token cannot be decoded.
    public static func applicationID(of encoded: String) -> String? {
        envelope(of: encoded)?.applicationID
    }

    /// Returns the body of a token that is not verified; nil if the token cannot be decoded. Only a party that knows
    /// the secret may rely on it.
    package static func unverifiedBody(of encoded: String) -> JSONObject? {
        envelope(of: encoded).flatMap { JSONObject(text: $0.token) }
    }

    /// Returns the HMAC key of an application.
    private static func key(_ applicationID: String, _ secret: String) -> SymmetricKey {
        SymmetricKey(data: Array((applicationID + secret).utf8))
    }

    private struct Envelope {
        let applicationID: String
        let digest: String
        let token: String
    }

    /// Decodes a token without verifying it. Returns nil if it cannot be decoded.
    private static func envelope(of encoded: String) -> Envelope? {
        guard encoded.utf8.count <= maximumEncodedSize, encoded.utf8.starts(with: prefix.utf8),
            let bytes = Base64.decode(Array(encoded.utf8.dropFirst(prefix.utf8.count))),
            case .object(let object)? = try? JSONValue(bytes),
            case .string(let applicationID)? = object["applicationId"], !applicationID.isEmpty,
            case .string(let digest)? = object["digest"], !digest.isEmpty,
            case .string(let token)? = object["token"], !token.isEmpty
        else { return nil }
        return Envelope(applicationID: applicationID, digest: digest, token: token)
    }
}

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
