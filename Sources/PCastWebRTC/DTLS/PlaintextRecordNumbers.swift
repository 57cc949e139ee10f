/// The sequence numbers of the records sent before encryption begins (epoch 0; RFC 6347, section 4.1).
///
/// A flight that is repeated as a copy has to leave under new numbers (RFC 6347, section 4.2.4): a peer may have dropped
/// a ChangeCipherSpec that came too early, and would drop it again as a replay. Nothing authenticates these numbers.
struct PlaintextRecordNumbers {
    private var next: UInt64 = 0

    /// Numbers each record of epoch 0 in a datagram of our own.
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
