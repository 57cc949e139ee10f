import PCastCore

/// A TURN message (RFC 8656), which keeps its bytes.
package struct TURNMessage: Sendable {
    /// The method of a message (RFC 8656, section 17). The raw values are the method numbers.
    package enum Method: UInt16, Sendable {
        /// A STUN Binding.
        case binding = 1
        /// A request for an allocation.
        case allocate = 3
        /// A request that extends or deletes an allocation.
        case refresh = 4
        /// An indication with a datagram for a peer.
        case send = 6
        /// An indication with a datagram of a peer.
        case data = 7
        /// A request for permissions.
        case createPermission = 8
        /// A request that binds a channel to a peer.
        case channelBind = 9
    }

    /// An attribute with the range of its value.
    private struct Attribute {
        let type: UInt16
        let value: Range<Int>
    }

    /// The method.
    package let method: Method
    /// The class of the message.
    package let messageClass: STUNMessage.MessageClass
    /// The transaction ID.
    package let transactionID: STUNTransactionID
    /// The whole message.
    package let bytes: [UInt8]

    private let attributes: [Attribute]

    /// The maximum number of attributes; a message with more is malformed. A request has about a dozen.
    static let maximumAttributes = 32

    /// Parses a message, which fills `bytes`. Returns nil for anything else. After an integrity attribute only a
    /// stronger one counts (RFC 8489, section 14.5).
    package init?(_ bytes: [UInt8]) {
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

    /// Returns the attributes; nil if they are malformed.
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

    /// Returns the big-endian 16-bit integer at an offset.
    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt16 {
        UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    }

    // MARK: Attributes

    /// Returns whether an attribute is present.
    func contains(_ type: UInt16) -> Bool { attributes.contains { $0.type == type } }

    /// Returns the value of the first attribute of a type; nil if missing.
    func value(_ type: UInt16) -> ArraySlice<UInt8>? { attributes.first { $0.type == type }.map { bytes[$0.value] } }

    /// Returns the value of an attribute as text; nil if missing.
    func text(_ type: UInt16) -> String? { value(type).map { String(decoding: $0, as: UTF8.self) } }

    /// Returns the value of an attribute of four bytes; nil if missing or of another size.
    func number32(_ type: UInt16) -> UInt32? {
        guard let value = value(type), value.count == 4 else { return nil }
        return value.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Returns the first byte of an attribute of four bytes, as for protocols and address families; nil if missing or
    /// of another size.
    func code(_ type: UInt16) -> UInt8? { value(type).flatMap { $0.count == 4 ? $0.first : nil } }

    /// The value of CHANNEL-NUMBER; nil if missing.
    var channelNumber: UInt16? {
        number32(TURNAttributeType.channelNumber).map { UInt16(truncatingIfNeeded: $0 >> 16) }
    }

    /// Returns the decoded addresses of all attributes of a type; nil if one is malformed.
    func addresses(_ type: UInt16) -> [TransportAddress]? {
        var found: [TransportAddress] = []
        for attribute in attributes where attribute.type == type {
            guard let address = address(bytes[attribute.value]) else { return nil }
            found.append(address)
        }
        return found
    }

    /// Decodes an address that is combined with the magic cookie and the transaction ID (RFC 8489, section 14.2).
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

    /// The code of ERROR-CODE; nil if missing.
    var errorCode: Int? {
        guard let value = value(STUNAttributeType.errorCode), value.count >= 4 else { return nil }
        let start = value.startIndex
        return Int(value[start + 2] & 7) * 100 + Int(value[start + 3])
    }

    /// The unknown attributes that must be understood.
    var unknownAttributes: [UInt16] {
        attributes.map(\.type).filter {
            STUNAttributeType.requiresComprehension($0) && !TURNAttributeType.understood.contains($0)
        }
    }

    // MARK: Integrity

    /// Returns the offset of an integrity attribute; nil if missing.
    func offset(ofIntegrity type: UInt16) -> Int? {
        attributes.first { $0.type == type }.map { $0.value.lowerBound - 4 }
    }

    /// Returns whether the message is authentic, in constant time.
    func verify(_ key: TURNKey) -> Bool {
        guard let offset = offset(ofIntegrity: key.attributeType), let value = value(key.attributeType) else {
            return false
        }
        // A SHA-256 code may be truncated to 16 bytes (RFC 8489, section 14.6). Only whole codes are accepted here.
        guard value.count == key.codeLength else { return false }
        var covered = Array(bytes[..<offset])
        let length = offset + 4 + value.count - STUNMessage.headerSize
        covered[2] = UInt8(truncatingIfNeeded: length >> 8)
        covered[3] = UInt8(truncatingIfNeeded: length)
        return key.isCode(Array(value), of: covered)
    }
}

/// The attributes of TURN (RFC 8656, section 18) and of its credentials (RFC 8489, section 14).
enum TURNAttributeType {
    static let channelNumber: UInt16 = 0x000C
    static let lifetime: UInt16 = 0x000D
    static let xorPeerAddress: UInt16 = 0x0012
    static let data: UInt16 = 0x0013
    static let xorRelayedAddress: UInt16 = 0x0016
    static let requestedAddressFamily: UInt16 = 0x0017
    static let requestedTransport: UInt16 = 0x0019
    static let messageIntegritySHA256: UInt16 = 0x001C
    static let passwordAlgorithm: UInt16 = 0x001D
    static let passwordAlgorithms: UInt16 = 0x8002
    static let software: UInt16 = 0x8022

    /// The known attributes of requests that must be understood. Others below 0x8000 cause the error 420.
    static let understood: Set<UInt16> = [
        STUNAttributeType.username, STUNAttributeType.messageIntegrity, STUNAttributeType.realm,
        STUNAttributeType.nonce, channelNumber, lifetime, xorPeerAddress, data, requestedAddressFamily,
        requestedTransport, messageIntegritySHA256, passwordAlgorithm,
    ]
}

/// The error codes of TURN responses (RFC 8656, section 19; RFC 8489, section 14.8).
enum TURNErrorCode {
    static let badRequest = 400
    static let unauthenticated = 401
    static let forbidden = 403
    static let unknownAttribute = 420
    static let allocationMismatch = 437
    static let staleNonce = 438
    static let addressFamilyNotSupported = 440
    static let wrongCredentials = 441
    static let unsupportedTransport = 442
    static let allocationQuotaReached = 486
    static let insufficientCapacity = 508
}
