import FoundationEssentials
import JWTKit
import PCastJSON

/// The public keys of an issuer (JWK Set, RFC 7517), by which signatures are verified.
///
/// Keys for other uses, and keys of unknown types, curves or algorithms, are left out (section 5). A symmetric key is
/// also left out, and a private one makes the set invalid.
public struct JSONWebKeySet: Sendable {
    /// The maximum size of a set in bytes, and the maximum number of its keys.
    public static let maximumSize = 64 * 1024
    private static let maximumCount = 64

    /// A key with the verifiers of its algorithms.
    private struct Key: Sendable {
        let id: String?
        let verifiers: [SignatureAlgorithm: any JWTAlgorithm]
    }

    private let keys: [Key]

    /// The number of keys that can verify signatures.
    public var count: Int { keys.count }

    /// Reads a set.
    ///
    /// - Throws: ``JSONWebKeySetError``.
    public init(_ bytes: [UInt8]) async throws(JSONWebKeySetError) {
        let limits = JSONLimits(bytes: Self.maximumSize, refusesAmbiguity: true)
        guard let members = (try? JSONValue(bytes, within: limits))?.object?["keys"]?.array else { throw .malformed }
        guard members.count <= Self.maximumCount else { throw .tooManyKeys(Self.maximumCount) }
        var keys: [Key] = []
        for member in members {
            guard let object = member.object else { throw .malformed }
            guard let key = try await Self.key(object) else { continue }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw .noKey }
        self.keys = keys
    }

    /// Returns whether the set has a key that may have signed the token.
    public func hasKey(for token: JSONWebToken) -> Bool { !candidates(token).isEmpty }

    /// Verifies the signature of a token.
    ///
    /// - Throws: ``JSONWebTokenError``.
    func verify(_ token: JSONWebToken) throws(JSONWebTokenError) {
        let candidates = candidates(token)
        guard !candidates.isEmpty else { throw .unknownKey }
        for verifier in candidates where (try? verifier.verify(token.signature, signs: token.signed)) == true { return }
        throw .signature
    }

    /// Returns the verifiers of the keys with the identifier of a token, for its algorithm. A token without an identifier
    /// may be signed by the only key of the set.
    private func candidates(_ token: JSONWebToken) -> [any JWTAlgorithm] {
        let named = token.keyID.map { id in keys.filter { $0.id == id } } ?? (keys.count == 1 ? keys : [])
        return named.compactMap { $0.verifiers[token.algorithm] }
    }

    // MARK: Keys

    private static let rsa: [SignatureAlgorithm] = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]

    /// The algorithm of each curve.
    private static let curves: [String: SignatureAlgorithm] = [
        "P-256": .es256, "P-384": .es384, "P-521": .es512, "Ed25519": .edDSA,
    ]

    /// Reads a key; nil if it is not for signatures that are accepted.
    ///
    /// - Throws: ``JSONWebKeySetError``.
    private static func key(_ object: JSONObject) async throws(JSONWebKeySetError) -> Key? {
        guard let type = object["kty"]?.string else { throw .malformed }
        guard ["RSA", "EC", "OKP"].contains(type), object["use"].map({ $0.string == "sig" }) ?? true else { return nil }
        guard object["d"] == nil else { throw .privateKey }
        if let operations = object["key_ops"]?.array, !operations.contains(.string("verify")) { return nil }
        let possible = type == "RSA" ? rsa : object["crv"]?.string.flatMap { curves[$0] }.map { [$0] } ?? []
        // A key may name the only algorithm for which it is meant.
        let algorithms = possible.filter { object["alg"].map { $0.string } ?? $0.rawValue == $0.rawValue }
        var verifiers: [SignatureAlgorithm: any JWTAlgorithm] = [:]
        for algorithm in algorithms {
            guard let verifier = await verifier(object, type: type, algorithm) else { throw .invalidKey }
            verifiers[algorithm] = verifier
        }
        return verifiers.isEmpty ? nil : Key(id: object["kid"]?.string, verifiers: verifiers)
    }

    /// Returns the verifier of a key for an algorithm; nil if the key is invalid, or an RSA key of less than 2048 bits.
    private static func verifier(
        _ object: JSONObject, type: String, _ algorithm: SignatureAlgorithm
    ) async -> (any JWTAlgorithm)? {
        let name: JWKIdentifier = "key"
        guard let named = JWK.Algorithm(rawValue: algorithm.rawValue) else { return nil }
        let (x, y) = (object["x"]?.string, object["y"]?.string)
        let key: JWK? =
            switch (type, algorithm) {
            case ("RSA", _):
                JWK.rsa(named, identifier: name, modulus: object["n"]?.string, exponent: object["e"]?.string)
            case ("EC", .es256): JWK.ecdsa(named, identifier: name, x: x, y: y, curve: .p256)
            case ("EC", .es384): JWK.ecdsa(named, identifier: name, x: x, y: y, curve: .p384)
            case ("EC", .es512): JWK.ecdsa(named, identifier: name, x: x, y: y, curve: .p521)
            case ("OKP", .edDSA): JWK.octetKeyPair(named, identifier: name, x: x, y: nil, curve: .ed25519)
            default: nil
            }
        guard let key else { return nil }
        let collection = JWTKeyCollection()
        guard (try? await collection.add(jwk: key)) != nil else { return nil }
        return try? await collection.getKey(for: name, alg: algorithm.rawValue)
    }
}

/// The reason why a set of keys cannot be used.
public enum JSONWebKeySetError: Error, Hashable, Sendable {
    /// The text is not a JWK Set, or is larger than ``JSONWebKeySet/maximumSize``.
    case malformed
    /// The set has more keys than the number given.
    case tooManyKeys(Int)
    /// A key is invalid, or an RSA key has less than 2048 bits.
    case invalidKey
    /// The set contains a private key.
    case privateKey
    /// No key can verify signatures of the accepted algorithms.
    case noKey
}

extension JSONWebKeySetError: CustomStringConvertible {
    /// The error and its remedy in English.
    public var description: String {
        switch self {
        case .malformed: "the key set is not a JWK Set (RFC 7517) of at most 64 KiB: check the file or the address"
        case .tooManyKeys(let limit): "the key set has more than \(limit) keys: remove those that are no longer used"
        case .invalidKey: "the key set has an invalid key: RSA keys need 2048 bits, and others a point of their curve"
        case .privateKey: "the key set contains a private key: publish public keys only"
        case .noKey: "the key set has no public key of type RSA, EC or OKP for signatures: add one"
        }
    }
}
