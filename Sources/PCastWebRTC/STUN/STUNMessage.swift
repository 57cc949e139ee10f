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
        return bytes.withUnsafeBytes { STUNIntegrity.verify($0, attributeOffset: integrityOffset, key: key) }
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
