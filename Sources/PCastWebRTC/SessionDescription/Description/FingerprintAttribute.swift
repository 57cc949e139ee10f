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

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count == 2, let algorithm = fields[0].token else { return nil }
        var bytes: [UInt8] = []
        for pair in fields[1].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard pair.count == 2, let byte = Self.byte(pair), bytes.count < Self.maximumSize else { return nil }
            bytes.append(byte)
        }
        self.init(algorithm: algorithm, bytes: bytes)
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
