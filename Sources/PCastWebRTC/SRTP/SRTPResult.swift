/// The result of decrypting a packet.
package enum SRTPResult: Equatable, Sendable {
    /// The packet is authentic. The plaintext has `length` bytes.
    case ok(length: Int)
    /// The index was received before or is too old.
    case replayed
    /// The tag is wrong; the bytes after the header are unspecified.
    case unauthentic
    /// The packet is not RTP or RTCP with a tag, or exceeds the number of SSRCs.
    case malformed
}
