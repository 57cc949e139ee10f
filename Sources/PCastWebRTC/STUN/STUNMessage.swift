package import PCastCore

/// A STUN binding message (RFC 8489). It is parsed without copies, and its ranges refer to the parsed bytes.
package struct STUNMessage: Sendable {
    /// The class of a message (RFC 8489, section 5).
    package enum MessageClass: UInt8, Sendable { case request, indication, success, error }

    /// The ICE role of the sender with its tie-breaker (RFC 8445, section 7.1.3).
    package enum Role: Hashable, Sendable {
        /// The sender is the controlling agent.
        case controlling(tieBreaker: UInt64)
        /// The sender is the controlled agent.
        case controlled(tieBreaker: UInt64)
    }

    /// The result of checking FINGERPRINT.
    package enum Fingerprint: Sendable { case absent, valid, invalid }

    /// The size of the header in bytes.
    package static let headerSize = 20

    /// The maximum size of a message in bytes. A check has about a hundred.
    package static let maximumSize = 2048

    /// The magic cookie (RFC 8489, section 5).
    package static let magicCookie: UInt32 = 0x2112_A442

    /// The class of the message.
    package let messageClass: MessageClass
    /// The transaction ID.
    package let transactionID: STUNTransactionID

    /// The size of the message in bytes.
    package let size: Int

    /// The range of USERNAME, which is the fragment of the receiver, a colon, and that of the sender; nil if missing.
    package internal(set) var usernameRange: Range<Int>?

    /// The offset of the MESSAGE-INTEGRITY attribute; nil if missing.
    package internal(set) var integrityOffset: Int?

    /// Whether FINGERPRINT is present and correct.
    package internal(set) var fingerprint = Fingerprint.absent
    /// The value of PRIORITY; nil if missing.
    package internal(set) var priority: UInt32?
    /// Whether USE-CANDIDATE is present.
    package internal(set) var usesCandidate = false
    /// The ICE role of the sender; nil if missing.
    package internal(set) var role: Role?

    /// The value of XOR-MAPPED-ADDRESS; nil if missing.
    package internal(set) var mappedAddress: TransportAddress?

    /// The value of ERROR-CODE, 300 to 699; nil if missing.
    package internal(set) var errorCode: Int?

    /// The range of the DTLS datagram in the message (SPED, draft-hancke-webrtc-sped-00); empty if the attribute has no
    /// datagram, nil if it is missing.
    package internal(set) var embeddedDatagramRange: Range<Int>?

    /// The range of the acknowledgements of embedded datagrams, at most four CRC-32 values; nil if they are missing.
    package internal(set) var acknowledgementsRange: Range<Int>?

    /// Whether the sender embeds DTLS datagrams in its messages.
    package var isEmbedding: Bool { embeddedDatagramRange != nil || acknowledgementsRange != nil }

    /// The unknown attributes that must be understood.
    package internal(set) var unknownAttributes = STUNUnknownAttributes()

    init(messageClass: MessageClass, transactionID: STUNTransactionID, size: Int) {
        self.messageClass = messageClass
        self.transactionID = transactionID
        self.size = size
    }

    /// Returns whether MESSAGE-INTEGRITY is present and correct for `key`, the password of a short-term credential. It
    /// takes constant time.
    package func verifyIntegrity(_ bytes: Span<UInt8>, key: [UInt8]) -> Bool {
        guard let integrityOffset, bytes.count == size else { return false }
        return bytes.withByteView { STUNIntegrity.verify($0, attributeOffset: integrityOffset, key: key) }
    }

    /// Returns the range of the receiver's fragment in USERNAME, by which a shared port finds the agent; nil if there
    /// is no USERNAME or no colon.
    package func recipientRange(in bytes: Span<UInt8>) -> Range<Int>? {
        guard let usernameRange, usernameRange.upperBound <= bytes.count else { return nil }
        for index in usernameRange where bytes[index] == UInt8(ascii: ":") {
            return usernameRange.lowerBound..<index
        }
        return nil
    }
}

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
            let expected = bytes.withByteView { STUNFingerprint.value(of: $0, count: range.lowerBound - 4) }
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
        case STUNAttributeType.embeddedDatagram:
            embeddedDatagramRange = embeddedDatagramRange ?? range
        case STUNAttributeType.acknowledgements:
            guard range.count % 4 == 0, range.count <= 4 * EmbeddedHandshake.acknowledgementLimit else { return true }
            acknowledgementsRange = acknowledgementsRange ?? range
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
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    fileprivate func bigEndian64(at offset: Int) -> UInt64 {
        UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
    }
}

/// The known attributes (RFC 8489, section 14; RFC 8445, section 16.1; draft-hancke-webrtc-sped-00).
enum STUNAttributeType {
    static let mappedAddress: UInt16 = 0x0001
    static let username: UInt16 = 0x0006
    static let messageIntegrity: UInt16 = 0x0008
    static let errorCode: UInt16 = 0x0009
    static let unknownAttributes: UInt16 = 0x000A
    static let realm: UInt16 = 0x0014
    static let nonce: UInt16 = 0x0015
    static let xorMappedAddress: UInt16 = 0x0020
    static let priority: UInt16 = 0x0024
    static let useCandidate: UInt16 = 0x0025
    static let fingerprint: UInt16 = 0x8028
    static let iceControlled: UInt16 = 0x8029
    static let iceControlling: UInt16 = 0x802A
    static let embeddedDatagram: UInt16 = 0xC070
    static let acknowledgements: UInt16 = 0xC071

    /// Returns whether an unknown attribute of a type must cause an error. Those from 0x8000 on are ignored (RFC 8489,
    /// section 14).
    static func requiresComprehension(_ type: UInt16) -> Bool { type < 0x8000 }
}

/// The 96-bit random number that relates a response to its request (RFC 8489, section 5).
package struct STUNTransactionID: Hashable, Sendable {
    /// The first four bytes.
    package let high: UInt32

    /// The last eight bytes.
    package let low: UInt64

    /// Creates an ID from its bytes in network order.
    package init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a random ID.
    package static func random(using generator: inout some RandomNumberGenerator) -> STUNTransactionID {
        let high = UInt32(truncatingIfNeeded: generator.next())
        return STUNTransactionID(high: high, low: generator.next())
    }
}

/// A generator of transaction IDs (SplitMix64, Steele et al., 2014).
///
/// The IDs must be distinct and hard to guess for an attacker who does not see them. MESSAGE-INTEGRITY authenticates
/// responses, so the generator need not be cryptographically secure.
struct TransactionIDGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The error codes of binding responses (RFC 8489, section 14.8; RFC 8445, section 16.2).
package enum STUNErrorCode {
    /// The request lacks a required attribute.
    package static let badRequest = 400

    /// The username is unknown or the integrity check fails.
    package static let unauthenticated = 401

    /// The request contains an unknown attribute that must be understood.
    package static let unknownAttribute = 420

    /// Both agents have the same role.
    package static let roleConflict = 487
}
