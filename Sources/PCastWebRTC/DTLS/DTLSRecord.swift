/// The first record of a datagram, as much as its header tells (RFC 6347, section 4.1).
enum DTLSRecord {
    static let headerSize = 13

    enum ContentType: UInt8 {
        case changeCipherSpec = 20
        case alert = 21
        case handshake = 22
    }

    /// Nil for a datagram too short for a record, and for what does not matter here.
    static func contentType(_ datagram: UnsafeRawBufferPointer) -> ContentType? {
        datagram.count >= headerSize ? ContentType(rawValue: datagram[0]) : nil
    }

    /// Whether the record, which has a header, is of a later epoch than the first.
    static func isEncrypted(_ datagram: UnsafeRawBufferPointer) -> Bool { datagram[3] != 0 || datagram[4] != 0 }

    static func isPlaintextHandshake(_ datagram: UnsafeRawBufferPointer) -> Bool {
        contentType(datagram) == .handshake && !isEncrypted(datagram)
    }
}
