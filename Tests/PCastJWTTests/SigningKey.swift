import Crypto
import CryptoExtras
import FoundationEssentials
import PCastCore

/// The private key of an issuer, with its public key as a JWK.
struct SigningKey {
    let id: String
    /// The algorithms of the key, the usual one first.
    let algorithms: [String]
    let jwk: String
    /// The bytes of the public key, without its type.
    let publicBytes: [UInt8]
    private let sign: ([UInt8], String) throws -> [UInt8]

    static func all() throws -> [SigningKey] { try [rsa(), p256(), p384(), ed25519()] }

    static func rsa() throws -> SigningKey {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let numbers = try key.publicKey.getKeyPrimitives()
        let jwk = rsaKey(modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
        return SigningKey(
            id: "rsa", algorithms: ["RS256", "PS256", "RS512"], jwk: jwk, publicBytes: Array(numbers.modulus)
        ) { bytes, algorithm in
            switch algorithm {
            case "RS256":
                Array(
                    try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
            case "RS512":
                Array(
                    try key.signature(for: SHA512.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
            default: Array(try key.signature(for: SHA256.hash(data: bytes), padding: .PSS).rawRepresentation)
            }
        }
    }

    static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> String {
        #"{"kty":"RSA","kid":"rsa","use":"sig","n":"\#(encode(modulus))","e":"\#(encode(exponent))"}"#
    }

    static func p256() -> SigningKey {
        let key = P256.Signing.PrivateKey()
        let point = Array(key.publicKey.x963Representation.dropFirst())
        let jwk =
            #"{"kty":"EC","kid":"p256","crv":"P-256","x":"\#(encode(Array(point.prefix(32))))","y":"\#(encode(Array(point.suffix(32))))"}"#
        return SigningKey(id: "p256", algorithms: ["ES256"], jwk: jwk, publicBytes: point) { bytes, _ in
            Array(try key.signature(for: bytes).rawRepresentation)
        }
    }

    static func p384() -> SigningKey {
        let key = P384.Signing.PrivateKey()
        let point = Array(key.publicKey.x963Representation.dropFirst())
        let jwk =
            #"{"kty":"EC","kid":"p384","crv":"P-384","alg":"ES384","x":"\#(encode(Array(point.prefix(48))))","y":"\#(encode(Array(point.suffix(48))))"}"#
        return SigningKey(id: "p384", algorithms: ["ES384"], jwk: jwk, publicBytes: point) { bytes, _ in
            Array(try key.signature(for: bytes).rawRepresentation)
        }
    }

    static func ed25519() -> SigningKey {
        let key = Curve25519.Signing.PrivateKey()
        let bytes = Array(key.publicKey.rawRepresentation)
        let jwk = #"{"kty":"OKP","kid":"ed","crv":"Ed25519","x":"\#(encode(bytes))"}"#
        return SigningKey(id: "ed", algorithms: ["EdDSA"], jwk: jwk, publicBytes: bytes) { bytes, _ in
            Array(try key.signature(for: bytes))
        }
    }

    /// Returns a signed token, whose header names an algorithm and a key.
    func token(_ claims: String, _ algorithm: String, id: String?) throws -> String {
        let kid = id.map { #","kid":"\#($0)""# } ?? ""
        let header = Self.encode(Array(#"{"typ":"JWT","alg":"\#(algorithm)"\#(kid)}"#.utf8))
        let signed = "\(header).\(Self.encode(Array(claims.utf8)))"
        return "\(signed).\(Self.encode(try sign(Array(signed.utf8), algorithm)))"
    }

    func token(_ claims: String, _ algorithm: String) throws -> String { try token(claims, algorithm, id: id) }
    func token(_ claims: String, id: String?) throws -> String { try token(claims, algorithms[0], id: id) }
    func token(_ claims: String) throws -> String { try token(claims, algorithms[0], id: id) }

    /// Returns a JWK Set.
    static func set(_ keys: [String]) -> [UInt8] { Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8) }

    /// Encodes bytes in base64url without padding.
    static func encode(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
