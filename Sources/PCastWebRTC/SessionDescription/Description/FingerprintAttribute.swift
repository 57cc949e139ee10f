/// An `a=fingerprint` line: a hash of the certificate that the peer will show (RFC 8122, section 5).
public struct FingerprintAttribute: Hashable, Sendable {
    /// The hash's name in lower case, such as `sha-256`.
    public var algorithm: String
    /// The hash, as long as the algorithm makes it.
    public var bytes: [UInt8]

    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm.asciiLowercased
        self.bytes = bytes
    }

    /// The longest hash read, SHA-512's.
    static let maximumSize = 64

    /// Reads the attribute's value. One that cannot be read has no bytes, and vouches for nothing: were it left out, the
    /// session's fingerprint would take its place (RFC 8122, section 5).
    init(parsing text: SDPText) {
        let fields = text.pieces()
        let algorithm = fields.first?.token ?? "none"
        self.init(algorithm: algorithm, bytes: fields.count == 2 ? Self.bytes(fields[1]) ?? [] : [])
    }

    private static func bytes(_ text: SDPText) -> [UInt8]? {
        var bytes: [UInt8] = []
        for pair in text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard pair.count == 2, let byte = byte(pair), bytes.count < maximumSize else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func byte(_ pair: SDPText) -> UInt8? {
        guard pair.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
        return UInt8(Substring(pair), radix: 16)
    }

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
