import Crypto
import FoundationEssentials
public import PCastJSON
import PCastMedia

/// Signs and verifies digest tokens:
///
///     "DIGEST:" + base64({"applicationId":…,"digest":…,"token":"<body as JSON text>"})
///
/// where the digest is the HMAC-SHA-512 (RFC 2104) of the body's text, as it stands there, under the key
/// application id ‖ secret.
public enum DigestTokens {
    /// In bytes; longer ones are not looked at.
    public static let maximumEncodedSize = 16 * 1024

    private static let prefix = "DIGEST:"

    /// Signs a token body, which must have an expiration other than zero and no application id.
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

    /// Tells one token from another without giving it away: 128 bits of its SHA-256, in hexadecimal.
    public static func fingerprint(of encoded: String) -> String {
        let digits = Array("0123456789abcdef")
        return SHA256.hash(data: Array(encoded.utf8)).prefix(16).reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    /// Tells whether `secret` signed the token, in a time that does not depend on the digest, and what it says.
    /// Whether it has expired and what it allows is for ``TokenAuthorization`` to judge.
    ///
    /// Stricter than Node's `Buffer.from`: base 64 outside the standard alphabet or in a form that no encoder writes
    /// is a bad token; padding may be left out.
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

    /// The application that a token claims to be of, by which its secret is looked up; nil for a bad token.
    public static func applicationID(of encoded: String) -> String? {
        envelope(of: encoded)?.applicationID
    }

    private static func key(_ applicationID: String, _ secret: String) -> SymmetricKey {
        SymmetricKey(data: Array((applicationID + secret).utf8))
    }

    private struct Envelope {
        let applicationID: String
        let digest: String
        let token: String
    }

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
