/// Detects a restart of a source with the same SSRC: several consecutive packets that do not belong to the previous
/// stream (RFC 3550, appendix A.1).
struct RestartDetector {
    /// The number of consecutive packets that make a restart.
    static let packetsNeeded = 3

    private var expected: UInt16 = 0
    private var count = 0

    /// Records a packet that does not belong to the stream. Returns whether the source has restarted.
    mutating func unrelatedPacketArrived(_ sequenceNumber: UInt16) -> Bool {
        count = count > 0 && sequenceNumber == expected ? count + 1 : 1
        expected = sequenceNumber &+ 1
        guard count == Self.packetsNeeded else { return false }
        count = 0
        return true
    }

    /// Records a packet that belongs to the stream.
    mutating func memberArrived() { count = 0 }
}
