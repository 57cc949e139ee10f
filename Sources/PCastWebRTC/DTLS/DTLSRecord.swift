/// Reads the header of the first record in a datagram (RFC 6347, section 4.1).
enum DTLSRecord {
    /// The size of a record header in bytes.
    static let headerSize = 13

    /// The content types that matter here (RFC 5246, section 6.2.1).
    enum ContentType: UInt8 {
        case changeCipherSpec = 20
        case alert = 21
        case handshake = 22
    }

    /// Returns the content type of the record; nil if the datagram is too short or the type does not matter here.
    static func contentType(_ datagram: UnsafeRawBufferPointer) -> ContentType? {
        datagram.count >= headerSize ? ContentType(rawValue: datagram[0]) : nil
    }

    /// Returns whether the record, whose header is complete, has an epoch after the first and is thus encrypted.
    static func isEncrypted(_ datagram: UnsafeRawBufferPointer) -> Bool { datagram[3] != 0 || datagram[4] != 0 }

    /// Returns whether the datagram begins with a complete header of an unencrypted handshake record.
    static func isPlaintextHandshake(_ datagram: UnsafeRawBufferPointer) -> Bool {
        contentType(datagram) == .handshake && !isEncrypted(datagram)
    }
}
