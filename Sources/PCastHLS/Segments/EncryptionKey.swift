/// How segments are encrypted, and where the key is (`EXT-X-KEY`; RFC 8216, section 4.3.2.4).
public struct EncryptionKey: Hashable, Sendable {
    public enum Method: Hashable, Sendable {
        /// Whole segments by AES-128 in CBC mode with PKCS #7 padding.
        case aes128
        case sampleAES
        case sampleAESCTR
        case other(String)
    }

    public var method: Method
    public var uri: String
    /// 16 bytes; nil where the segment's number stands for it.
    public var initializationVector: [UInt8]?
    /// `identity` means that the address answers the 16 bytes of the key.
    public var keyFormat: String
    /// Which versions of the format, separated by slashes.
    public var keyFormatVersions: String?

    public init(
        method: Method = .aes128, uri: String, initializationVector: [UInt8]? = nil, keyFormat: String = "identity",
        keyFormatVersions: String? = nil
    ) {
        precondition(initializationVector.map { $0.count == 16 } ?? true, "an initialization vector has 16 bytes")
        self.method = method
        self.uri = uri
        self.initializationVector = initializationVector
        self.keyFormat = keyFormat
        self.keyFormatVersions = keyFormatVersions
    }

    /// What the segment of this number is decrypted with: the vector of the tag, or else the number, big-endian
    /// (RFC 8216, section 5.2).
    public func initializationVector(forSegment number: Int64) -> [UInt8] {
        if let initializationVector { return initializationVector }
        return (0..<16).map { $0 < 8 ? 0 : UInt8(truncatingIfNeeded: number >> Int64((15 - $0) * 8)) }
    }
}

extension EncryptionKey.Method {
    init(text: String) {
        self =
            switch text {
            case "AES-128": .aes128
            case "SAMPLE-AES": .sampleAES
            case "SAMPLE-AES-CTR": .sampleAESCTR
            default: .other(text)
            }
    }

    var text: String {
        switch self {
        case .aes128: "AES-128"
        case .sampleAES: "SAMPLE-AES"
        case .sampleAESCTR: "SAMPLE-AES-CTR"
        case .other(let text): text
        }
    }
}

extension EncryptionKey {
    /// - Returns: nil for `METHOD=NONE`.
    init?(_ attributes: AttributeList) throws(PlaylistError) {
        let method = try attributes.required("METHOD", attributes.word)
        guard method != "NONE" else { return nil }
        self.init(
            method: Method(text: method), uri: try attributes.required("URI"),
            initializationVector: try Self.initializationVector(attributes),
            keyFormat: attributes.string("KEYFORMAT") ?? "identity",
            keyFormatVersions: attributes.string("KEYFORMATVERSIONS"))
    }

    private static func initializationVector(_ attributes: AttributeList) throws(PlaylistError) -> [UInt8]? {
        guard let text = attributes.string("IV") else { return nil }
        var digits = text[...].utf8
        guard digits.hasPrefix("0x") || digits.hasPrefix("0X") else { throw attributes.malformed("IV") }
        digits = digits.dropFirst(2)
        guard (1...32).contains(digits.count) else { throw attributes.malformed("IV") }
        var bytes = [UInt8](repeating: 0, count: 16)
        // Leading zeros may be left out.
        for (place, digit) in digits.reversed().enumerated() {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { throw attributes.malformed("IV") }
            bytes[15 - place / 2] |= UInt8(value) << (place % 2 == 0 ? 0 : 4)
        }
        return bytes
    }

    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.bare("METHOD", method.text)
        writer.quoted("URI", uri)
        if let initializationVector {
            let digits = initializationVector.map { byte in
                String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
            writer.bare("IV", "0x" + digits.joined())
        }
        if keyFormat != "identity" { writer.quoted("KEYFORMAT", keyFormat) }
        writer.quoted("KEYFORMATVERSIONS", keyFormatVersions)
        return writer
    }
}
