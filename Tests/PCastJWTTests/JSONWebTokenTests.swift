import Crypto
import CryptoExtras
import FoundationEssentials
import PCastCore
import PCastEdgeAuth
import Testing

@testable import PCastJWT

/// Tokens that are signed with keys of each type, and the claims that they have.
@Suite struct JSONWebTokenTests {
    static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
    static let policy = JSONWebTokenPolicy(issuer: "https://login.example", audience: "pcast")
    static let claims =
        #"{"iss":"https://login.example","aud":"pcast","exp":1800000600,"pcast":{"applicationId":"first","type":"publish","capabilities":["hd"],"applyTags":["a"],"role":"operate"}}"#

    /// Returns claims with one of them replaced, or removed by an empty text.
    static func claims(_ name: String, _ value: String) -> String {
        var members = [
            "iss": #""https://login.example""#, "aud": #""pcast""#, "exp": "1800000600", "pcast": #"{"type":"stream"}"#,
        ]
        members[name] = value.isEmpty ? nil : value
        return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    static func verify(_ text: String, _ keys: JSONWebKeySet) throws(JSONWebTokenError) -> JSONWebTokenGrants {
        try policy.grants(of: JSONWebToken(text), by: keys, at: now)
    }

    /// Returns the error of a token; nil if it is accepted.
    static func error(_ text: String, _ keys: JSONWebKeySet) -> JSONWebTokenError? {
        do throws(JSONWebTokenError) {
            _ = try verify(text, keys)
            return nil
        } catch {
            return error
        }
    }

    @Test("a token that a key of the set has signed is accepted, and becomes the grants of EdgeAuth")
    func accepted() async throws {
        let signers = try SigningKey.all()
        let keys = try await JSONWebKeySet(SigningKey.set(signers.map(\.jwk)))
        #expect(keys.count == signers.count)
        for signer in signers {
            for algorithm in signer.algorithms {
                let grants = try Self.verify(signer.token(Self.claims, algorithm), keys)
                #expect(grants.application == "first" && grants.role == .operate)
                let media = try #require(grants.media)
                #expect(media.kind == .publishing && media.capabilities == ["hd"] && media.applyTags == ["a"])
                // The end of the token has the tolerance of the clocks.
                #expect(media.expires == WallTime(millisecondsSinceEpoch: 1_800_000_660_000))
            }
        }
    }

    @Test("changed claims, another key and a truncated signature are rejected")
    func forged() async throws {
        let signers = try SigningKey.all()
        let others = try SigningKey.all()
        let keys = try await JSONWebKeySet(SigningKey.set(signers.map(\.jwk)))
        for (signer, other) in zip(signers, others) {
            let token = try signer.token(Self.claims)
            let parts = token.split(separator: ".")
            let changed = SigningKey.encode(Array(Self.claims.replacing("first", with: "other").utf8))
            #expect(Self.error("\(parts[0]).\(changed).\(parts[2])", keys) == .signature)
            #expect(Self.error(try other.token(Self.claims), keys) == .signature)
            #expect(Self.error("\(parts[0]).\(parts[1]).", keys) == .signature)
            #expect(Self.error("\(parts[0]).\(parts[1]).AAAA", keys) == .signature)
        }
    }

    @Test("algorithms without a signature, with a shared key, and of another key are rejected")
    func algorithms() async throws {
        let signer = SigningKey.ed25519()
        let keys = try await JSONWebKeySet(SigningKey.set([signer.jwk]))
        let body = SigningKey.encode(Array(Self.claims.utf8))
        for name in ["none", "None", "HS256", "HS512", "es256", ""] {
            let header = SigningKey.encode(Array(#"{"alg":"\#(name)","kid":"ed"}"#.utf8))
            // The public key is no secret, so it may not verify an HMAC.
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("\(header).\(body)".utf8), using: SymmetricKey(data: signer.publicBytes))
            #expect(Self.error("\(header).\(body).\(SigningKey.encode(Array(code)))", keys) == .algorithm)
            #expect(Self.error("\(header).\(body).", keys) == .algorithm)
        }
        #expect(Self.error(try signer.token(Self.claims, "RS256"), keys) == .unknownKey)
        #expect(Self.error(try signer.token(Self.claims, id: "other"), keys) == .unknownKey)
        // A token without an identifier is signed by the only key.
        #expect(Self.error(try signer.token(Self.claims, id: nil), keys) == nil)
        let two = try await JSONWebKeySet(SigningKey.set([signer.jwk, SigningKey.p256().jwk]))
        #expect(Self.error(try signer.token(Self.claims, id: nil), two) == .unknownKey)
        // A key that names its algorithm verifies no other.
        let rsa = try SigningKey.rsa()
        let restricted = rsa.jwk.replacing(#""kty""#, with: #""alg":"RS256","kty""#)
        let one = try await JSONWebKeySet(SigningKey.set([restricted]))
        #expect(Self.error(try rsa.token(Self.claims, "RS256"), one) == nil)
        #expect(Self.error(try rsa.token(Self.claims, "PS256"), one) == .unknownKey)
    }

    @Test(
        "a claim that is missing, wrong or unreadable is named",
        arguments: [
            ("iss", "", JSONWebTokenError.claim("iss")), ("iss", #""https://other.example""#, .claim("iss")),
            ("aud", "", .claim("aud")), ("aud", #"["a","b"]"#, .claim("aud")), ("aud", "{}", .claim("aud")),
            ("exp", "", .claim("exp")), ("exp", #""1800000600""#, .claim("exp")), ("exp", "1799999940", .expired),
            ("nbf", "1800000061", .notYetValid), ("nbf", "true", .claim("nbf")), ("iat", "1e300", .notYetValid),
            ("pcast", "", .claim("pcast")), ("pcast", "[]", .claim("pcast")), ("pcast", "{}", .claim("pcast.type")),
            ("pcast", #"{"type":"all"}"#, .claim("pcast")),
            ("pcast", #"{"type":"stream","sessionId":1}"#, .claim("pcast")),
            ("pcast", #"{"role":"root"}"#, .claim("pcast.role")), ("pcast", #"{"role":null}"#, .claim("pcast.role")),
        ])
    func rejected(name: String, value: String, expected: JSONWebTokenError) async throws {
        let signer = SigningKey.ed25519()
        let keys = try await JSONWebKeySet(SigningKey.set([signer.jwk]))
        #expect(Self.error(try signer.token(Self.claims(name, value)), keys) == expected)
    }

    @Test("times within the tolerance, one of several audiences, and a role alone are accepted")
    func tolerated() async throws {
        let signer = SigningKey.ed25519()
        let keys = try await JSONWebKeySet(SigningKey.set([signer.jwk]))
        let accepted = [
            ("exp", "1799999941"), ("exp", "1.8e9"), ("exp", "1e300"), ("nbf", "1800000060"), ("iat", "1800000060"),
            ("aud", #"["other","pcast"]"#),
        ]
        for (name, value) in accepted {
            #expect(Self.error(try signer.token(Self.claims(name, value)), keys) == nil, "\(name) \(value)")
        }
        let grants = try Self.verify(signer.token(Self.claims("pcast", #"{"role":"view"}"#)), keys)
        #expect(grants.media == nil && grants.role == .view && grants.application == nil)
        #expect(AdministrationRole.view < .operate && AdministrationRole.operate < .administer)
    }

    @Test("text that is not a token is rejected") func malformed() async throws {
        let signer = SigningKey.ed25519()
        let token = try signer.token(Self.claims)
        let parts = token.split(separator: ".").map(String.init)
        let header = { (text: String) in
            "\(SigningKey.encode(Array(text.utf8))).\(parts[1]).\(parts[2])"
        }
        let texts = [
            "", ".", "..", "a.b.c", "\(parts[0]).\(parts[1])", token + ".x", token + "=", " " + token,
            header(#"{"alg":"EdDSA","alg":"EdDSA"}"#), header(#"{"alg":"EdDSA","kid":1}"#),
            header(#"{"alg":"EdDSA","crit":["exp"],"exp":1}"#), header(#"["EdDSA"]"#), header("{"),
            "\(parts[0]).\(SigningKey.encode(Array(#"{"exp":1,"exp":2}"#.utf8))).\(parts[2])",
            String(repeating: "a", count: 100_000) + token,
        ]
        for text in texts {
            #expect(throws: JSONWebTokenError.malformed) { _ = try JSONWebToken(text) }
        }
        #expect(JSONWebToken.hasForm(of: token))
        for text in ["", "DIGEST:eyJ9", "a.b.c", "key", "1.2.3"] { #expect(!JSONWebToken.hasForm(of: text)) }
    }

    @Test("a set with a private, weak or invalid key is rejected, and keys for other uses are left out")
    func keySets() async throws {
        let signer = SigningKey.p256()
        let weak = SigningKey.rsaKey(
            modulus: [0xC1] + Array(repeating: 0x55, count: 126) + [0x01], exponent: [1, 0, 1])
        let shared = #"{"kty":"oct","k":"AAAA","kid":"s","alg":"HS256"}"#
        let cases: [(String, JSONWebKeySetError)] = [
            ("", .malformed), ("{}", .malformed), (#"{"keys":{}}"#, .malformed), (#"{"keys":[1]}"#, .malformed),
            (#"{"keys":[{}]}"#, .malformed), (#"{"keys":[]}"#, .noKey), (#"{"keys":[\#(shared)]}"#, .noKey),
            (#"{"keys":[\#(signer.jwk.replacing("{", with: #"{"d":"AAAA","#))]}"#, .privateKey),
            (#"{"keys":[\#(signer.jwk.replacing(#""x":""#, with: #""x":"AA"#))]}"#, .invalidKey),
            (#"{"keys":[\#(weak)]}"#, .invalidKey),
            (#"{"keys":[\#(Array(repeating: signer.jwk, count: 65).joined(separator: ","))]}"#, .tooManyKeys(64)),
            (#"{"keys":[\#(signer.jwk)],"x":"\#(String(repeating: "x", count: 70_000))"}"#, .malformed),
        ]
        for (text, expected) in cases {
            await #expect(throws: expected) { _ = try await JSONWebKeySet(Array(text.utf8)) }
        }
        let other = signer.jwk.replacing(#""kty""#, with: #""use":"enc","kty""#)
        let unknown = #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#
        let keys = try await JSONWebKeySet(SigningKey.set([other, unknown, shared, signer.jwk]))
        #expect(keys.count == 1)
        #expect(Self.error(try signer.token(Self.claims), keys) == nil)
    }
}
