import PCastCore

/// Writes a TURN message attribute by attribute.
struct TURNMessageWriter {
    private let transactionID: STUNTransactionID
    private var bytes: [UInt8] = []

    /// Begins a message with its header.
    init(_ method: TURNMessage.Method, _ messageClass: STUNMessage.MessageClass, _ transactionID: STUNTransactionID) {
        self.transactionID = transactionID
        bytes.reserveCapacity(256)
        let bits = UInt16(messageClass.rawValue)
        // The methods of TURN have four bits, which are below those of the class (RFC 8489, section 5).
        append(method.rawValue | (bits & 2) << 7 | (bits & 1) << 4)
        append(UInt16(0))
        append(STUNMessage.magicCookie)
        append(transactionID.high)
        append(transactionID.low)
    }

    /// Adds an attribute with padding.
    mutating func add(_ type: UInt16, _ value: some Collection<UInt8>) {
        append(type)
        append(UInt16(value.count))
        bytes.append(contentsOf: value)
        while bytes.count % 4 != 0 { bytes.append(0) }
    }

    /// Adds an attribute with a text.
    mutating func add(_ type: UInt16, text: String) { add(type, text.utf8) }

    /// Adds an attribute with a 32-bit integer.
    mutating func add(_ type: UInt16, number: UInt32) {
        append(type)
        append(UInt16(4))
        append(number)
    }

    /// Adds an address, combined with the magic cookie and the transaction ID (RFC 8489, section 14.2).
    mutating func add(_ type: UInt16, address: TransportAddress) {
        append(type)
        append(address.ip.v4 == nil ? UInt16(20) : UInt16(8))
        append(address.ip.v4 == nil ? UInt16(2) : UInt16(1))
        append(address.port ^ UInt16(STUNMessage.magicCookie >> 16))
        if let v4 = address.ip.v4 {
            append(v4 ^ STUNMessage.magicCookie)
        } else {
            let mask = transactionID.addressMask
            append(address.ip.v6.high ^ mask.high)
            append(address.ip.v6.low ^ mask.low)
        }
    }

    /// Adds ERROR-CODE without a reason phrase.
    mutating func add(errorCode code: Int) {
        add(STUNAttributeType.errorCode, number: UInt32((code / 100) << 8 | code % 100))
    }

    /// Returns the whole message, with an integrity attribute if there is a key.
    mutating func finish(_ key: TURNKey?) -> [UInt8] {
        guard let key else {
            setLength(bytes.count)
            return bytes
        }
        setLength(bytes.count + 4 + key.codeLength)
        let code = key.code(of: bytes)
        add(key.attributeType, code)
        return bytes
    }

    /// Sets the length in the header for a message of `count` bytes.
    private mutating func setLength(_ count: Int) {
        let length = count - STUNMessage.headerSize
        bytes[2] = UInt8(truncatingIfNeeded: length >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: length)
    }

    /// Appends an integer in network byte order.
    private mutating func append(_ value: some FixedWidthInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
