/// Assigns the sequence numbers of unencrypted records (epoch 0; RFC 6347, section 4.1).
///
/// A flight that is retransmitted as a copy needs new sequence numbers (RFC 6347, section 4.2.4). A peer may have
/// dropped a ChangeCipherSpec that arrived too early, and would drop a copy as a replay. The numbers are not
/// authenticated, so they can be changed.
struct PlaintextRecordNumbers {
    /// The next sequence number, 48 bits.
    private var next: UInt64 = 0

    /// Assigns new numbers to all records of epoch 0 in a datagram.
    mutating func renumber(_ datagram: inout [UInt8]) {
        var offset = 0
        while offset + DTLSRecord.headerSize <= datagram.count {
            if datagram[offset + 3] == 0, datagram[offset + 4] == 0 {
                for byte in 0..<6 {
                    datagram[offset + 5 + byte] = UInt8(truncatingIfNeeded: next >> UInt64(40 - 8 * byte))
                }
                next += 1
            }
            offset += DTLSRecord.headerSize + (Int(datagram[offset + 11]) << 8 | Int(datagram[offset + 12]))
        }
    }
}
