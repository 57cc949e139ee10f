import PCastCore
import PCastEdgeAuth
import PCastJSON

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
