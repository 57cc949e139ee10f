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
