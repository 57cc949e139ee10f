import PCastMedia

/// A message of TURN (RFC 8656), read from the bytes that it keeps.
public struct TURNMessage: Sendable {
    public enum Method: UInt16, Sendable {
        case binding = 1
        case allocate = 3
        case refresh = 4
        case send = 6
        case data = 7
        case createPermission = 8
        case channelBind = 9
    }

    private struct Attribute {
        let type: UInt16
        let value: Range<Int>
    }

    public let method: Method
    public let messageClass: STUNMessage.MessageClass
    public let transactionID: STUNTransactionID
    public let bytes: [UInt8]

    private let attributes: [Attribute]

    /// More make it malformed: a request has a dozen.
    static let maximumAttributes = 32

    /// Reads a message that fills `bytes`; nil for anything else. Behind an integrity nothing counts but a stronger one
    /// and FINGERPRINT (RFC 8489, section 14.5).
    public init?(_ bytes: [UInt8]) {
        guard (STUNMessage.headerSize...TURNStreamReader.maximumFrameSize).contains(bytes.count) else { return nil }
        let type = Self.number(bytes, 0)
        guard type & 0xC000 == 0, Self.number(bytes, 4) == 0x2112, Self.number(bytes, 6) == 0xA442,
            Int(Self.number(bytes, 2)) == bytes.count - STUNMessage.headerSize, bytes.count % 4 == 0,
            let method = Method(rawValue: type & 0x000F | (type & 0x00E0) >> 1 | (type & 0x3E00) >> 2),
            let messageClass = STUNMessage.MessageClass(rawValue: UInt8(type >> 7 & 2 | type >> 4 & 1))
        else { return nil }
        guard let attributes = Self.attributes(of: bytes) else { return nil }
        self.attributes = attributes
        self.method = method
        self.messageClass = messageClass
        transactionID = STUNTransactionID(
            high: UInt32(Self.number(bytes, 8)) << 16 | UInt32(Self.number(bytes, 10)),
            low: stride(from: 12, to: 20, by: 2).reduce(0) { $0 << 16 | UInt64(Self.number(bytes, $1)) })
        self.bytes = bytes
    }

    private static func attributes(of bytes: [UInt8]) -> [Attribute]? {
        var attributes: [Attribute] = []
        var offset = STUNMessage.headerSize
        while offset < bytes.count {
            guard attributes.count < maximumAttributes, bytes.count - offset >= 4 else { return nil }
            let type = number(bytes, offset)
            let length = Int(number(bytes, offset + 2))
            let start = offset + 4
            guard bytes.count - start >= (length + 3) & ~3 else { return nil }
            let last = attributes.last?.type
            let isBehindIntegrity =
                last == STUNAttributeType.messageIntegrity || last == TURNAttributeType.messageIntegritySHA256
            let mayFollow =
                type == TURNAttributeType.messageIntegritySHA256 && last == STUNAttributeType.messageIntegrity
            if !isBehindIntegrity || mayFollow {
                attributes.append(Attribute(type: type, value: start..<start + length))
            }
            offset = start + (length + 3) & ~3
        }
        return attributes
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt16 {
        UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    }

    // MARK: Attributes

    func contains(_ type: UInt16) -> Bool { attributes.contains { $0.type == type } }

    /// The first of the type.
    func value(_ type: UInt16) -> ArraySlice<UInt8>? { attributes.first { $0.type == type }.map { bytes[$0.value] } }

    func text(_ type: UInt16) -> String? { value(type).map { String(decoding: $0, as: UTF8.self) } }

    func number32(_ type: UInt16) -> UInt32? {
        guard let value = value(type), value.count == 4 else { return nil }
        return value.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The first byte of four, as protocols and families are told.
    func code(_ type: UInt16) -> UInt8? { value(type).flatMap { $0.count == 4 ? $0.first : nil } }

    var channelNumber: UInt16? {
        number32(TURNAttributeType.channelNumber).map { UInt16(truncatingIfNeeded: $0 >> 16) }
    }

    /// Those of one type, with their cover taken off; nil when one cannot be read.
    func addresses(_ type: UInt16) -> [TransportAddress]? {
        var found: [TransportAddress] = []
        for attribute in attributes where attribute.type == type {
            guard let address = address(bytes[attribute.value]) else { return nil }
            found.append(address)
        }
        return found
    }

    private func address(_ value: ArraySlice<UInt8>) -> TransportAddress? {
        let bytes = Array(value)
        guard bytes.count >= 8 else { return nil }
        let port = Self.number(bytes, 2) ^ UInt16(STUNMessage.magicCookie >> 16)
        let word = { (offset: Int) in (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[offset + $1]) } }
        switch (bytes[1], bytes.count) {
        case (1, 8):
            let v4 = UInt32(Self.number(bytes, 4)) << 16 | UInt32(Self.number(bytes, 6))
            return TransportAddress(ip: IPAddress(v4: v4 ^ STUNMessage.magicCookie), port: port)
        case (2, 20):
            let mask = transactionID.addressMask
            return TransportAddress(ip: IPAddress(v6: word(4) ^ mask.high, word(12) ^ mask.low), port: port)
        default: return nil
        }
    }

    /// The code of ERROR-CODE.
    var errorCode: Int? {
        guard let value = value(STUNAttributeType.errorCode), value.count >= 4 else { return nil }
        let start = value.startIndex
        return Int(value[start + 2] & 7) * 100 + Int(value[start + 3])
    }

    /// Attributes that have to be understood and are not.
    var unknownAttributes: [UInt16] {
        attributes.map(\.type).filter {
            STUNAttributeType.requiresComprehension($0) && !TURNAttributeType.understood.contains($0)
        }
    }

    // MARK: Integrity

    /// Where the header of an integrity stands.
    func offset(ofIntegrity type: UInt16) -> Int? {
        attributes.first { $0.type == type }.map { $0.value.lowerBound - 4 }
    }

    /// Whether the message is that of the key's owner; in a time that does not tell where it differs.
    func verify(_ key: TURNKey) -> Bool {
        guard let offset = offset(ofIntegrity: key.attributeType), let value = value(key.attributeType) else {
            return false
        }
        // RFC 8489, section 14.6: a SHA-256 code may be cut to 16 bytes at least; ours are whole, and so are those taken.
        guard value.count == key.codeLength else { return false }
        var covered = Array(bytes[..<offset])
        let length = offset + 4 + value.count - STUNMessage.headerSize
        covered[2] = UInt8(truncatingIfNeeded: length >> 8)
        covered[3] = UInt8(truncatingIfNeeded: length)
        return key.isCode(Array(value), of: covered)
    }
}
