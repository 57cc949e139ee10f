/// What became of a protected packet.
public enum SRTPResult: Equatable, Sendable {
    /// Authentic; the packet is now that many bytes of plaintext.
    case ok(length: Int)
    /// Its index was seen before, or lies too far back to tell.
    case replayed
    /// The tag is not the packet's own; the bytes after the header are unspecified.
    case unauthentic
    /// No RTP or RTCP packet with a tag, or authentic but of one SSRC too many.
    case malformed
}
