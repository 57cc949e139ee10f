/// The encryption method of segments and the URI of the key (`EXT-X-KEY`; RFC 8216, section 4.3.2.4).
public struct EncryptionKey: Hashable, Sendable {
    /// The encryption method (`METHOD`).
    public enum Method: Hashable, Sendable {
        /// AES-128 in CBC mode with PKCS #7 padding, over whole segments.
        case aes128
        /// AES-128 in CBC mode over media samples (`SAMPLE-AES`).
        case sampleAES
        /// AES-128 in CTR mode over media samples, i.e. Common Encryption `cenc` (`SAMPLE-AES-CTR`).
        case sampleAESCTR
        /// Any other method, by its name in the playlist.
        case other(String)
    }

    /// The encryption method.
    public var method: Method
    /// The URI of the key, relative to the playlist.
    public var uri: String
    /// The initialization vector of 16 bytes; nil if it is derived from the media sequence number.
    public var initializationVector: [UInt8]?
    /// The format of the key (`KEYFORMAT`). For `identity` the resource at the URI is the key itself, 16 bytes.
    public var keyFormat: String
    /// The versions of the key format, separated by slashes; nil if it is not specified.
    public var keyFormatVersions: String?

    /// Creates a key; `initializationVector` must have 16 bytes.
    public init(
        method: Method = .aes128, uri: String, initializationVector: [UInt8]? = nil, keyFormat: String = "identity",
        keyFormatVersions: String? = nil
    ) {
        precondition(initializationVector.map { $0.count == 16 } ?? true, "an initialization vector must have 16 bytes")
        self.method = method
        self.uri = uri
        self.initializationVector = initializationVector
        self.keyFormat = keyFormat
        self.keyFormatVersions = keyFormatVersions
    }

    /// Returns the initialization vector for a segment: that of the tag, or else the media sequence number as 16 bytes
    /// in big-endian order (RFC 8216, section 5.2).
    public func initializationVector(forSegment number: Int64) -> [UInt8] {
        if let initializationVector { return initializationVector }
        return (0..<16).map { $0 < 8 ? 0 : UInt8(truncatingIfNeeded: number >> Int64((15 - $0) * 8)) }
    }
}

extension EncryptionKey.Method {
    /// Creates a method from the value of `METHOD`.
    init(text: String) {
        self =
            switch text {
            case "AES-128": .aes128
            case "SAMPLE-AES": .sampleAES
            case "SAMPLE-AES-CTR": .sampleAESCTR
            default: .other(text)
            }
    }

    /// The value of `METHOD`.
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
    /// Reads the tag. Returns nil for `METHOD=NONE`.
    ///
    /// - Parameter attributes: The attributes of the tag.
    /// - Throws: ``PlaylistError`` if a required attribute is missing or `IV` is not a hexadecimal number of up to 128
    ///   bits.
    init?(_ attributes: AttributeList) throws(PlaylistError) {
        let method = try attributes.required("METHOD", attributes.word)
        guard method != "NONE" else { return nil }
        self.init(
            method: Method(text: method), uri: try attributes.required("URI"),
            initializationVector: try Self.initializationVector(attributes),
            keyFormat: attributes.string("KEYFORMAT") ?? "identity",
            keyFormatVersions: attributes.string("KEYFORMATVERSIONS"))
    }

    /// Returns the value of `IV`; nil if the attribute is missing.
    private static func initializationVector(_ attributes: AttributeList) throws(PlaylistError) -> [UInt8]? {
        guard let text = attributes.string("IV") else { return nil }
        var digits = text[...].utf8
        guard digits.hasPrefix("0x") || digits.hasPrefix("0X") else { throw attributes.malformed("IV") }
        digits = digits.dropFirst(2)
        guard (1...32).contains(digits.count) else { throw attributes.malformed("IV") }
        var bytes = [UInt8](repeating: 0, count: 16)
        // Leading zeros may be missing.
        for (index, digit) in digits.reversed().enumerated() {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { throw attributes.malformed("IV") }
            bytes[15 - index / 2] |= UInt8(value) << (index % 2 == 0 ? 0 : 4)
        }
        return bytes
    }

    /// The attributes of the tag.
    var attributes: AttributeWriter {
        var writer = AttributeWriter()
        writer.unquoted("METHOD", method.text)
        writer.quoted("URI", uri)
        if let initializationVector {
            let digits = initializationVector.map { byte in
                String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
            writer.unquoted("IV", "0x" + digits.joined())
        }
        if keyFormat != "identity" { writer.quoted("KEYFORMAT", keyFormat) }
        writer.quoted("KEYFORMATVERSIONS", keyFormatVersions)
        return writer
    }
}
