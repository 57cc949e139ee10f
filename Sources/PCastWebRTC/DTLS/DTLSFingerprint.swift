/// The fingerprint of a certificate in a session description, which authenticates the peer (RFC 8122).
public struct DTLSFingerprint: Hashable, Sendable {
    /// The accepted hash functions. The raw values are those of the SDP attribute.
    public enum Algorithm: String, Sendable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"

        /// The size of the hash in bytes.
        fileprivate var size: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        /// The hash function in OpenSSL.
        fileprivate var digest: MessageDigest {
            switch self {
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
        }
    }

    /// The hash function.
    public let algorithm: Algorithm
    /// The hash of the certificate in DER.
    public let bytes: [UInt8]

    /// Reads an SDP attribute. Returns nil if the hash function is not accepted, e.g. SHA-1, or the hash has the wrong
    /// size.
    public init?(_ attribute: FingerprintAttribute) {
        guard let algorithm = Algorithm(rawValue: attribute.algorithm), attribute.bytes.count == algorithm.size else {
            return nil
        }
        self.algorithm = algorithm
        bytes = attribute.bytes
    }

    /// Computes the fingerprint of a certificate in DER.
    init(_ algorithm: Algorithm, of certificate: [UInt8]) {
        self.algorithm = algorithm
        bytes = MessageDigest.digest(algorithm.digest, of: certificate)
    }

    /// The attribute for a session description.
    public var attribute: FingerprintAttribute { FingerprintAttribute(algorithm: algorithm.rawValue, bytes: bytes) }

    /// Returns whether the fingerprint is that of a certificate in DER.
    func matches(_ certificate: [UInt8]) -> Bool { DTLSFingerprint(algorithm, of: certificate) == self }
}
