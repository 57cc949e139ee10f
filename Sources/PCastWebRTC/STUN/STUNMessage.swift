public import PCastMedia

/// A binding message (RFC 8489), read without copies: ranges point into the bytes that it was parsed from.
public struct STUNMessage: Sendable {
    /// RFC 8489, section 5.
    public enum MessageClass: UInt8, Sendable { case request, indication, success, error }

    /// What the sender says of its role, with its tie-breaker (RFC 8445, section 7.1.3).
    public enum Role: Hashable, Sendable {
        case controlling(tieBreaker: UInt64)
        case controlled(tieBreaker: UInt64)
    }

    public enum Fingerprint: Sendable { case absent, valid, invalid }

    /// Bytes before the first attribute.
    public static let headerSize = 20

    /// Longer messages are not read. A check is about a hundred bytes.
    public static let maximumSize = 2048

    /// RFC 8489, section 5.
    public static let magicCookie: UInt32 = 0x2112_A442

    public let messageClass: MessageClass
    public let transactionID: STUNTransactionID

    /// Bytes of the whole message.
    public let size: Int

    /// USERNAME: the receiver's fragment, a colon, the sender's.
    public internal(set) var usernameRange: Range<Int>?

    /// Where the header of MESSAGE-INTEGRITY stands.
    public internal(set) var integrityOffset: Int?

    public internal(set) var fingerprint = Fingerprint.absent
    public internal(set) var priority: UInt32?
    public internal(set) var usesCandidate = false
    public internal(set) var role: Role?

    /// XOR-MAPPED-ADDRESS.
    public internal(set) var mappedAddress: TransportAddress?

    /// The code of ERROR-CODE, 300 to 699.
    public internal(set) var errorCode: Int?

    public internal(set) var unknownAttributes = STUNUnknownAttributes()

    init(messageClass: MessageClass, transactionID: STUNTransactionID, size: Int) {
        self.messageClass = messageClass
        self.transactionID = transactionID
        self.size = size
    }

    /// Whether MESSAGE-INTEGRITY is there and is that of `key`, the password of a short-term credential. Takes the
    /// same time whatever the difference.
    public func verifyIntegrity(_ bytes: Span<UInt8>, key: [UInt8]) -> Bool {
        guard let integrityOffset, bytes.count == size else { return false }
        return bytes.withUnsafeBytes { STUNIntegrity.verify($0, attributeOffset: integrityOffset, key: key) }
    }

    /// The part of USERNAME before the colon: the fragment of the agent that a request is addressed to, by which a
    /// port shared by many finds it. Nil when there is no USERNAME or no colon.
    public func recipientRange(in bytes: Span<UInt8>) -> Range<Int>? {
        guard let usernameRange, usernameRange.upperBound <= bytes.count else { return nil }
        for index in usernameRange where bytes[index] == UInt8(ascii: ":") {
            return usernameRange.lowerBound..<index
        }
        return nil
    }
}
