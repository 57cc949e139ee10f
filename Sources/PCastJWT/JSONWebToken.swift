import PCastCore
import PCastJSON

/// A JSON Web Token (RFC 7519) in the compact serialization of a JSON Web Signature (RFC 7515, section 7.1). Reading it
/// verifies nothing.
public struct JSONWebToken: Sendable {
    /// The maximum size of an encoded token in bytes, as of EdgeAuth tokens.
    public static let maximumEncodedSize = 16 * 1024

    /// The algorithm that the header names.
    public let algorithm: SignatureAlgorithm
    /// The identifier of the key that the header names (`kid`); nil if absent.
    public let keyID: String?
    /// The claims.
    let claims: JSONObject
    /// The bytes that the signature covers, and the signature.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Reads a token.
    ///
    /// - Throws: ``JSONWebTokenError`` if the text is not a token, or its algorithm is not one of ``SignatureAlgorithm``.
    public init(_ encoded: String) throws(JSONWebTokenError) {
        let bytes = Array(encoded.utf8)
        guard bytes.count <= Self.maximumEncodedSize else { throw .malformed }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Self.decode(parts[2])
        else { throw .malformed }
        guard let name = header["alg"]?.string, let algorithm = SignatureAlgorithm(rawValue: name) else {
            throw .algorithm
        }
        // An extension that a recipient does not understand makes the token invalid (RFC 7515, section 4.1.11).
        guard header["crit"] == nil else { throw .malformed }
        switch header["kid"] {
        case nil: keyID = nil
        case .string(let text): keyID = text
        default: throw .malformed
        }
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signed = Array(bytes[..<parts[1].endIndex])
    }

    /// Returns whether a text has the form of a token.
    public static func hasForm(of encoded: String) -> Bool {
        guard encoded.utf8.count <= maximumEncodedSize else { return false }
        let parts = Array(encoded.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && object(parts[0])?["alg"] != nil
    }

    /// Decodes a JSON object in base64url. A name that occurs twice is refused, because parsers read it differently.
    private static func object(_ text: ArraySlice<UInt8>) -> JSONObject? {
        guard let bytes = decode(text) else { return nil }
        return (try? JSONValue(bytes, within: JSONLimits(refusesAmbiguity: true)))?.object
    }

    /// Decodes base64url without padding (RFC 7515, section 2).
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var standard = Array(text)
        for index in standard.indices {
            switch standard[index] {
            case UInt8(ascii: "-"): standard[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): standard[index] = UInt8(ascii: "/")
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: break
            }
        }
        return Base64.decode(standard)
    }
}

/// The algorithms of signatures that are accepted (RFC 7518, section 3.1; RFC 8037). The list has neither `none` nor
/// algorithms with a shared key (HS256 and others), because the keys of the set are public.
public enum SignatureAlgorithm: String, CaseIterable, Hashable, Sendable {
    /// RSA with SHA-256 (RFC 8017, section 8.2).
    case rs256 = "RS256"
    /// RSA with SHA-384 (RFC 8017, section 8.2).
    case rs384 = "RS384"
    /// RSA with SHA-512 (RFC 8017, section 8.2).
    case rs512 = "RS512"
    /// RSA-PSS with SHA-256 (RFC 8017, section 8.1).
    case ps256 = "PS256"
    /// RSA-PSS with SHA-384 (RFC 8017, section 8.1).
    case ps384 = "PS384"
    /// RSA-PSS with SHA-512 (RFC 8017, section 8.1).
    case ps512 = "PS512"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// ECDSA with P-384 and SHA-384.
    case es384 = "ES384"
    /// ECDSA with P-521 and SHA-512.
    case es512 = "ES512"
    /// EdDSA with Ed25519.
    case edDSA = "EdDSA"
}

/// The reason why a token is not accepted. The text has no part of the token.
public enum JSONWebTokenError: Error, Hashable, Sendable {
    /// The text is not a token.
    case malformed
    /// The header names no algorithm, or one that is not accepted.
    case algorithm
    /// No key of the set has the identifier and the algorithm of the header.
    case unknownKey
    /// The signature is not that of the key.
    case signature
    /// A claim is missing, or has the wrong type or value.
    case claim(String)
    /// The token has expired.
    case expired
    /// The token is not valid yet.
    case notYetValid
}

extension JSONWebTokenError: CustomStringConvertible {
    /// The error in English.
    public var description: String {
        switch self {
        case .malformed: "the token is not a JSON Web Token in the compact form"
        case .algorithm: "the token's algorithm is not accepted"
        case .unknownKey: "the token's key is not in the key set"
        case .signature: "the token's signature is wrong"
        case .claim(let name): "the token's claim “\(name)” is missing or wrong"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        }
    }
}
