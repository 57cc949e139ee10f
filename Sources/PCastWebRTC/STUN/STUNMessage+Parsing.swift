import PCastCore

extension STUNMessage {
    /// Parses a binding message, which fills `bytes`. Returns nil for anything else.
    ///
    /// After MESSAGE-INTEGRITY only FINGERPRINT counts (RFC 8489, section 14.5), and of several attributes of a type
    /// the first one (section 14). A message is malformed if an attribute has a wrong length or FINGERPRINT is not the
    /// last one.
    ///
    /// - Parameter bytes: The message.
    /// - Returns: The message, whose ranges refer to `bytes`.
    package static func parse(_ bytes: Span<UInt8>) -> STUNMessage? {
        guard bytes.count >= headerSize, bytes.count <= maximumSize else { return nil }
        let type = bytes.bigEndian16(at: 0)
        // The bits of the method, which is 1 for binding, surround the two bits of the class.
        guard type & 0xFEEF == 0x0001, bytes.bigEndian32(at: 4) == magicCookie,
            Int(bytes.bigEndian16(at: 2)) == bytes.count - headerSize, bytes.count % 4 == 0,
            let messageClass = MessageClass(rawValue: UInt8(type >> 7 & 2 | type >> 4 & 1))
        else { return nil }
        let transactionID = STUNTransactionID(high: bytes.bigEndian32(at: 8), low: bytes.bigEndian64(at: 12))
        var message = STUNMessage(messageClass: messageClass, transactionID: transactionID, size: bytes.count)
        return message.readAttributes(bytes) ? message : nil
    }

    /// Reads all attributes. Returns false if the message is malformed.
    private mutating func readAttributes(_ bytes: Span<UInt8>) -> Bool {
        var offset = Self.headerSize
        while offset < bytes.count {
            guard fingerprint == .absent, bytes.count - offset >= 4 else { return false }
            let type = bytes.bigEndian16(at: offset)
            let length = Int(bytes.bigEndian16(at: offset + 2))
            let padded = (length + 3) & ~3
            guard bytes.count - offset - 4 >= padded else { return false }
            if integrityOffset == nil || type == STUNAttributeType.fingerprint {
                guard read(type, at: offset + 4..<offset + 4 + length, of: bytes) else { return false }
            }
            offset += 4 + padded
        }
        return true
    }

    /// Reads the value of an attribute. Returns false if it is malformed.
    private mutating func read(_ type: UInt16, at range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        switch type {
        case STUNAttributeType.username:
            // RFC 8489, section 14.3, limits USERNAME to 508 bytes, but fragments of ICE can make it 513 (RFC 8839,
            // section 5.4).
            guard range.count <= 513 else { return false }
            usernameRange = usernameRange ?? range
        case STUNAttributeType.messageIntegrity:
            guard range.count == STUNIntegrity.size else { return false }
            integrityOffset = range.lowerBound - 4
        case STUNAttributeType.fingerprint:
            guard range.count == 4 else { return false }
            let expected = bytes.withUnsafeBytes { STUNFingerprint.value(of: $0, count: range.lowerBound - 4) }
            fingerprint = bytes.bigEndian32(at: range.lowerBound) == expected ? .valid : .invalid
        case STUNAttributeType.xorMappedAddress:
            guard let address = readMappedAddress(range, of: bytes) else { return false }
            mappedAddress = mappedAddress ?? address
        case STUNAttributeType.errorCode:
            guard range.count >= 4, let code = Self.readErrorCode(range, of: bytes) else { return false }
            errorCode = errorCode ?? code
        case STUNAttributeType.mappedAddress, STUNAttributeType.unknownAttributes, STUNAttributeType.realm,
            STUNAttributeType.nonce:
            break
        default:
            return readCheckAttribute(type, at: range, of: bytes)
        }
        return true
    }

    /// Reads an attribute of RFC 8445, or records an unknown one. Returns false if it is malformed.
    private mutating func readCheckAttribute(_ type: UInt16, at range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        switch type {
        case STUNAttributeType.priority:
            guard range.count == 4 else { return false }
            priority = priority ?? bytes.bigEndian32(at: range.lowerBound)
        case STUNAttributeType.useCandidate:
            usesCandidate = true
        case STUNAttributeType.iceControlled:
            guard range.count == 8 else { return false }
            role = role ?? .controlled(tieBreaker: bytes.bigEndian64(at: range.lowerBound))
        case STUNAttributeType.iceControlling:
            guard range.count == 8 else { return false }
            role = role ?? .controlling(tieBreaker: bytes.bigEndian64(at: range.lowerBound))
        default:
            if STUNAttributeType.requiresComprehension(type) { unknownAttributes.append(type) }
        }
        return true
    }

    /// Returns the code of ERROR-CODE; nil if it is not between 300 and 699.
    private static func readErrorCode(_ range: Range<Int>, of bytes: Span<UInt8>) -> Int? {
        let hundreds = Int(bytes[range.lowerBound + 2] & 7)
        let rest = Int(bytes[range.lowerBound + 3])
        return (3...6).contains(hundreds) && rest < 100 ? hundreds * 100 + rest : nil
    }

    /// Returns the address of XOR-MAPPED-ADDRESS, which is combined with the magic cookie and the transaction ID (RFC
    /// 8489, section 14.2); nil if it is malformed.
    private func readMappedAddress(_ range: Range<Int>, of bytes: Span<UInt8>) -> TransportAddress? {
        guard range.count >= 8 else { return nil }
        let start = range.lowerBound
        let port = bytes.bigEndian16(at: start + 2) ^ UInt16(Self.magicCookie >> 16)
        switch (bytes[start + 1], range.count) {
        case (1, 8):
            return TransportAddress(ip: IPAddress(v4: bytes.bigEndian32(at: start + 4) ^ Self.magicCookie), port: port)
        case (2, 20):
            let mask = transactionID.addressMask
            let high = bytes.bigEndian64(at: start + 4) ^ mask.high
            let low = bytes.bigEndian64(at: start + 12) ^ mask.low
            return TransportAddress(ip: IPAddress(v6: high, low), port: port)
        default:
            return nil
        }
    }
}

extension STUNTransactionID {
    /// The mask of an IPv6 address: the magic cookie and the transaction ID (RFC 8489, section 14.2).
    var addressMask: (high: UInt64, low: UInt64) {
        (UInt64(STUNMessage.magicCookie) << 32 | UInt64(high), low)
    }
}

extension Span<UInt8> {
    fileprivate func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    fileprivate func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    fileprivate func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}
