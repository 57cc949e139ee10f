import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastJWT

/// Digest tokens, of which only the signed content is trusted.
enum EdgeAuthTokenTarget {
    private static let secret = "my-secret"

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        let verification = DigestTokens.verifyAndDecode(secret: secret, encoded: text)
        try check(verification.isVerified == (verification.value != nil), "a value without verification")
        try check(
            !DigestTokens.verifyAndDecode(secret: secret + "x", encoded: text).isVerified, "verified by another secret")
        if let application = DigestTokens.applicationID(of: text) {
            try check(!application.isEmpty && application.utf8.count <= bytes.count, "an application out of nothing")
        }
        if verification.isVerified {
            // Only padding and the notation of the envelope may differ from what was signed.
            try check(Self.bodies.contains { verification.value?.text.contains($0) ?? false }, "a body nobody signed")
        }
        if let authorization = TokenAuthorization(verification) {
            try authorize(authorization)
        }
        return verification.code != .notADigestToken && verification.code != .badToken
    }

    private static func authorize(_ authorization: TokenAuthorization) throws(BrokenInvariant) {
        let request = TokenRequest(.authenticate)
        do {
            try authorization.authorize(request, at: WallTime(millisecondsSinceEpoch: .max / 1_000_000))
        } catch {
            return
        }
        throw BrokenInvariant(description: "a token that never expires")
    }

    /// Tokens from the tests of the public libraries.
    private static let bodies = [#""expires":1000"#]

    static let corpus: [[UInt8]] = [
        "DIGEST:eyJhcHBsaWNhdGlvbklkIjoibXktYXBwbGljYXRpb24taWQiLCJkaWdlc3QiOiJPMk90R1ZBMlErTGlhRkdjSjZ0cnlXZWE4L2l2dWF"
            + "QR2gzcFJpcVd3ZlJPVWdBSSs0dFdaYXdBc011Y2MyMHNRTjZpaGZtVGVDNFVubXVoWko5aHBxUT09IiwidG9rZW4iOiJ7XCJleHBpcmVzXCI6"
            + "MTAwMCxcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsQWxpYXM6bXktY2hhbm5lbFwiLFwidHlwZVwiOlwic3RyZWFtXCJ9In0="
    ].map { Array($0.utf8) }
}

/// JSON Web Tokens before their signatures are verified.
enum JSONWebTokenTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        do {
            let token = try JSONWebToken(text)
            try check(text.utf8.count <= JSONWebToken.maximumEncodedSize, "a token that is too large")
            try check(JSONWebToken.hasForm(of: text), "a token without the form of one")
            try check((token.keyID?.utf8.count ?? 0) <= text.utf8.count, "a key identifier out of nothing")
            return true
        } catch let error as BrokenInvariant {
            throw error
        } catch {
            return false
        }
    }

    /// Two tokens whose signatures are not valid, with and without a key identifier.
    static let corpus: [[UInt8]] = [
        (#"{"alg":"ES256","kid":"1"}"#, #"{"iss":"a","aud":["pcast"],"exp":2000000000,"pcast":{"type":"stream"}}"#),
        (#"{"typ":"JWT","alg":"EdDSA"}"#, #"{"exp":1.5e9,"nbf":0,"pcast":{"role":"view"}}"#),
    ].map { header, claims in
        let parts = [header, claims, String(repeating: "s", count: 64)].map { part in
            // base64url without padding (RFC 7515, section 2).
            String(Base64.encode(Array(part.utf8)).filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        }
        return Array(parts.joined(separator: ".").utf8)
    }
}

/// The keys of an issuer, as its HTTP server answers.
enum JSONWebKeySetTarget {
    private static let policy = JSONWebTokenPolicy(issuer: "a", audience: "pcast")
    private static let tokens = JSONWebTokenTarget.corpus.compactMap {
        try? JSONWebToken(String(decoding: $0, as: UTF8.self))
    }

    static func run(_ bytes: [UInt8]) async throws(BrokenInvariant) -> Bool {
        guard let keys = try? await JSONWebKeySet(bytes) else { return false }
        try check(keys.count > 0 && keys.count <= bytes.count, "\(keys.count) keys")
        for token in tokens {
            let grants = try? policy.grants(of: token, by: keys, at: WallTime(millisecondsSinceEpoch: 0))
            try check(grants == nil, "a token that no key has signed")
        }
        return true
    }

    /// The public keys of RFC 7517, appendix A.1, and RFC 8037, appendix A.
    static let corpus: [[UInt8]] = [curves, modulus].map { Array($0.utf8) }

    private static let curves = """
        {"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",\
        "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig","kid":"1"},\
        {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","key_ops":["verify"]}]}
        """

    private static let modulus = """
        {"keys":[{"kty":"RSA","e":"AQAB","alg":"RS256","kid":"2011-04-29","n":"\
        0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3\
        oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA\
        ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-\
        kEgU8awapJzKnqDKgw"},{"kty":"oct","k":"AA"}]}
        """
}
