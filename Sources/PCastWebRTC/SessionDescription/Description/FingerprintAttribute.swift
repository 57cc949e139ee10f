/// An `a=fingerprint` line: the hash of the certificate that the peer will present (RFC 8122, section 5).
public struct FingerprintAttribute: Hashable, Sendable {
    /// The name of the hash function in lower case, e.g. `sha-256`.
    public var algorithm: String
    /// The hash. It is empty if the line is malformed.
    public var bytes: [UInt8]

    /// Creates an attribute; the name is converted to lower case.
    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm.asciiLowercased
        self.bytes = bytes
    }

    /// The maximum size of a hash in bytes, that of SHA-512.
    static let maximumSize = 64

    /// Parses the value of the attribute. A malformed one has no bytes and matches no certificate. It is kept because
    /// the fingerprint of the session would apply if it were missing (RFC 8122, section 5).
    init(parsing text: SDPText) {
        let fields = text.pieces()
        let algorithm = fields.first?.token ?? "none"
        self.init(algorithm: algorithm, bytes: fields.count == 2 ? Self.bytes(fields[1]) ?? [] : [])
    }

    /// Parses bytes in hexadecimal, separated by colons. Returns nil if they are malformed.
    private static func bytes(_ text: SDPText) -> [UInt8]? {
        var bytes: [UInt8] = []
        for pair in text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard pair.count == 2, let byte = byte(pair), bytes.count < maximumSize else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Parses two hexadecimal digits.
    private static func byte(_ pair: SDPText) -> UInt8? {
        guard pair.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
        return UInt8(Substring(pair), radix: 16)
    }

    /// The value of the attribute.
    var text: String {
        var text = algorithm + " "
        for (index, byte) in bytes.enumerated() {
            if index > 0 { text += ":" }
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16, uppercase: true)
        }
        return text
    }
}
