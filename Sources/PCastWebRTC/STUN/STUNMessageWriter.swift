package import PCastCore

/// Writes a binding message into a buffer, attribute by attribute. ``finish(key:)`` completes it.
///
/// The buffer must be large enough; `STUNMessage.maximumSize` bytes always are.
package struct STUNMessageWriter {
    private let buffer: MutableByteView
    private let transactionID: STUNTransactionID

    /// The number of bytes written.
    package private(set) var count = STUNMessage.headerSize

    /// Begins a message with its header.
    package init(
        _ messageClass: STUNMessage.MessageClass, transactionID: STUNTransactionID,
        into buffer: MutableByteView
    ) {
        precondition(buffer.count >= STUNMessage.headerSize)
        self.buffer = buffer
        self.transactionID = transactionID
        let bits = UInt16(messageClass.rawValue)
        store(UInt16(1) | (bits & 2) << 7 | (bits & 1) << 4, at: 0)
        store(UInt16(0), at: 2)
        store(STUNMessage.magicCookie, at: 4)
        store(transactionID.high, at: 8)
        store(transactionID.low, at: 12)
    }

    /// Adds the USERNAME of a check: the fragment of the receiver, a colon, and that of the sender.
    package mutating func addUsername(recipient: [UInt8], sender: [UInt8]) {
        let start = begin(STUNAttributeType.username, length: recipient.count + 1 + sender.count)
        for (index, byte) in recipient.enumerated() { buffer[start + index] = byte }
        buffer[start + recipient.count] = UInt8(ascii: ":")
        for (index, byte) in sender.enumerated() { buffer[start + recipient.count + 1 + index] = byte }
    }

    /// Adds PRIORITY (RFC 8445, section 7.1.1).
    package mutating func addPriority(_ priority: UInt32) {
        store(priority, at: begin(STUNAttributeType.priority, length: 4))
    }

    /// Adds USE-CANDIDATE (RFC 8445, section 7.1.2).
    package mutating func addUseCandidate() {
        _ = begin(STUNAttributeType.useCandidate, length: 0)
    }

    /// Adds ICE-CONTROLLING or ICE-CONTROLLED (RFC 8445, section 7.1.3).
    package mutating func addRole(_ role: STUNMessage.Role) {
        switch role {
        case .controlling(let tieBreaker):
            store(tieBreaker, at: begin(STUNAttributeType.iceControlling, length: 8))
        case .controlled(let tieBreaker):
            store(tieBreaker, at: begin(STUNAttributeType.iceControlled, length: 8))
        }
    }

    /// Adds XOR-MAPPED-ADDRESS (RFC 8489, section 14.2).
    package mutating func addMappedAddress(_ address: TransportAddress) {
        let v4 = address.ip.v4
        let start = begin(STUNAttributeType.xorMappedAddress, length: v4 == nil ? 20 : 8)
        store(v4 == nil ? UInt16(2) : UInt16(1), at: start)
        store(address.port ^ UInt16(STUNMessage.magicCookie >> 16), at: start + 2)
        if let v4 {
            store(v4 ^ STUNMessage.magicCookie, at: start + 4)
        } else {
            let mask = transactionID.addressMask
            store(address.ip.v6.high ^ mask.high, at: start + 4)
            store(address.ip.v6.low ^ mask.low, at: start + 12)
        }
    }

    /// Adds ERROR-CODE without a reason phrase, so that the response stays small.
    package mutating func addErrorCode(_ code: Int) {
        precondition((300...699).contains(code))
        store(UInt32((code / 100) << 8 | code % 100), at: begin(STUNAttributeType.errorCode, length: 4))
    }

    /// Adds UNKNOWN-ATTRIBUTES (RFC 8489, section 14.13).
    package mutating func addUnknownAttributes(_ attributes: STUNUnknownAttributes) {
        let start = begin(STUNAttributeType.unknownAttributes, length: attributes.count * 2)
        for index in 0..<attributes.count { store(attributes[index], at: start + index * 2) }
    }

    /// Adds a DTLS datagram, which may be empty, and the acknowledgements of received ones (draft-hancke-webrtc-sped-00).
    package mutating func addEmbedded(_ datagram: [UInt8], acknowledging checksums: [UInt32]) {
        let acknowledgements = begin(STUNAttributeType.acknowledgements, length: 4 * checksums.count)
        for (index, checksum) in checksums.enumerated() { store(checksum, at: acknowledgements + 4 * index) }
        let start = begin(STUNAttributeType.embeddedDatagram, length: datagram.count)
        buffer.extracting(start..<start + datagram.count).copyBytes(from: datagram)
    }

    /// Adds MESSAGE-INTEGRITY, if there is a key, and FINGERPRINT. Returns the size of the message in bytes.
    package mutating func finish(key: [UInt8]?) -> Int {
        if let key {
            let start = begin(STUNAttributeType.messageIntegrity, length: STUNIntegrity.size)
            let covered = ByteView(buffer.extracting(0..<start - 4))
            let code = buffer.extracting(start..<start + STUNIntegrity.size)
            STUNIntegrity.authenticate(covered, key: key, into: code)
        }
        let start = begin(STUNAttributeType.fingerprint, length: 4)
        store(STUNFingerprint.value(of: ByteView(buffer), count: start - 4), at: start)
        return count
    }

    /// Writes the header and the padding of an attribute, and updates the length of the message. Returns the offset of
    /// the value.
    private mutating func begin(_ type: UInt16, length: Int) -> Int {
        let padded = (length + 3) & ~3
        precondition(count + 4 + padded <= buffer.count, "the buffer must have space for the whole message")
        let start = count + 4
        store(type, at: count)
        store(UInt16(length), at: count + 2)
        for index in length..<padded { buffer[start + index] = 0 }
        count = start + padded
        store(UInt16(count - STUNMessage.headerSize), at: 2)
        return start
    }

    /// Writes an integer in network byte order.
    private func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        buffer.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Value.self)
    }
}

/// The value of FINGERPRINT: CRC-32 (ITU-T V.42) combined with "STUN" (RFC 8489, section 14.7).
enum STUNFingerprint {
    private static let mask: UInt32 = 0x5354_554E

    /// Returns the value for the first `count` bytes. Their length field must already include FINGERPRINT.
    static func value(of bytes: ByteView, count: Int) -> UInt32 { CRC32.value(of: bytes.extracting(0..<count)) ^ mask }
}

/// The checksum CRC-32 of ITU-T V.42.
enum CRC32 {
    /// The CRC table for four bits at a time. It fits into one cache line, and messages have only some hundred bytes.
    private static let table: InlineArray<16, UInt32> = {
        var table = InlineArray<16, UInt32>(repeating: 0)
        for index in 0..<16 {
            var value = UInt32(index)
            for _ in 0..<4 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
            table[index] = value
        }
        return table
    }()

    /// Returns the checksum of the bytes.
    static func value(of bytes: ByteView) -> UInt32 {
        // The span avoids a copy of the constant table by each subscript.
        let table = Self.table
        let values = table.span
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            remainder ^= UInt32(byte)
            remainder = remainder >> 4 ^ values[Int(remainder & 15)]
            remainder = remainder >> 4 ^ values[Int(remainder & 15)]
        }
        return ~remainder
    }
}

/// The unknown attributes of a request that must be understood, for an error response 420 (RFC 8489, section 14.13).
///
/// It holds the first eight. A request with more is also rejected.
package struct STUNUnknownAttributes: Sendable {
    /// The maximum number of attributes.
    package static let capacity = 8

    private var types = InlineArray<8, UInt16>(repeating: 0)

    /// The number of attributes, at most ``capacity``.
    package private(set) var count = 0

    /// Creates an empty list.
    package init() {}

    /// Whether there are no attributes.
    package var isEmpty: Bool { count == 0 }

    /// The type of an attribute; the index must be less than ``count``.
    package subscript(index: Int) -> UInt16 {
        precondition(index < count)
        return types[index]
    }

    /// Adds an attribute, unless the list is full.
    mutating func append(_ type: UInt16) {
        guard count < Self.capacity else { return }
        types[count] = type
        count += 1
    }
}

/// The value of MESSAGE-INTEGRITY: HMAC-SHA1 of the message before the attribute (RFC 8489, section 14.5).
enum STUNIntegrity {
    /// The size of the value in bytes.
    static let size = 20

    /// Writes the code of a message, whose length field must already include the attribute as the last one.
    static func authenticate(
        _ message: ByteView, key: [UInt8], into code: MutableByteView
    ) {
        precondition(code.count >= size && !key.isEmpty)
        if key.count <= HMACSHA1.maximumKeyLength {
            HMACSHA1(key: key).authenticate(message, trailer: nil, into: code.extracting(0..<size))
            return
        }
        // A password may have up to 256 characters (RFC 8839, section 5.4), but rarely has more than 64.
        code.copyBytes(from: HMACCode.make(.sha1, key: key, of: Array(message)))
    }

    /// Returns whether the value of the attribute at `offset` is the code of the bytes before it, in constant time. The
    /// length field is changed in a copy, because attributes after it do not count.
    static func verify(_ bytes: ByteView, attributeOffset offset: Int, key: [UInt8]) -> Bool {
        guard !key.isEmpty else { return false }
        return withTemporaryBytes(offset + size) { memory in
            let covered = memory.extracting(..<offset)
            let code = memory.extracting(offset...)
            covered.copyMemory(from: bytes.extracting(..<offset))
            let length = UInt16(offset + 4 + size - STUNMessage.headerSize)
            covered.storeBytes(of: length.bigEndian, toByteOffset: 2, as: UInt16.self)
            authenticate(ByteView(covered), key: key, into: code)
            return HMACCode.isEqual(ByteView(code), bytes.extracting(offset + 4..<offset + 4 + size))
        }
    }
}
