import COpenSSL

/// The hash of a certificate, by which a peer's description vouches for it (RFC 8122).
public struct DTLSFingerprint: Hashable, Sendable {
    public enum Algorithm: String, Sendable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// The bytes of the hash.
        fileprivate var size: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        fileprivate var digest: OpaquePointer? {
            switch self {
            case .sha256: EVP_sha256()
            case .sha384: EVP_sha384()
            case .sha512: EVP_sha512()
            }
        }
    }

    public let algorithm: Algorithm
    public let bytes: [UInt8]

    /// What a description says; nil for a hash that is not trusted here, and for one that is not of its length.
    public init?(_ attribute: FingerprintAttribute) {
        guard let algorithm = Algorithm(rawValue: attribute.algorithm), attribute.bytes.count == algorithm.size else {
            return nil
        }
        self.algorithm = algorithm
        bytes = attribute.bytes
    }

    /// Of a certificate in DER.
    init(_ algorithm: Algorithm, of certificate: [UInt8]) {
        self.algorithm = algorithm
        bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var size: UInt32 = 0
            let made = EVP_Digest(certificate, certificate.count, buffer.baseAddress, &size, algorithm.digest, nil)
            precondition(made == 1, "OpenSSL makes SHA-2 hashes")
            count = Int(size)
        }
    }

    /// For a description.
    public var attribute: FingerprintAttribute { FingerprintAttribute(algorithm: algorithm.rawValue, bytes: bytes) }

    /// Whether it is the hash of this certificate, in DER.
    func matches(_ certificate: [UInt8]) -> Bool { DTLSFingerprint(algorithm, of: certificate) == self }
}
