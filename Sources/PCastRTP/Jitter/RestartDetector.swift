/// Tells a source that started anew with the same SSRC from a stray packet: after several consecutive numbers that
/// do not belong to the stream as it was (RFC 3550, appendix A.1; RTP11).
struct RestartDetector {
    static let packetsNeeded = 3

    private var expected: UInt16 = 0
    private var count = 0

    /// Takes in a packet that does not belong. Answers true when it is the last of a run that makes a new stream.
    mutating func strangerArrived(_ sequenceNumber: UInt16) -> Bool {
        count = count > 0 && sequenceNumber == expected ? count + 1 : 1
        expected = sequenceNumber &+ 1
        guard count == Self.packetsNeeded else { return false }
        count = 0
        return true
    }

    /// Takes in that the stream as it was goes on.
    mutating func memberArrived() { count = 0 }
}
