/// What a datagram on a WebRTC port holds, told by its first bytes (RFC 7983, section 7; RFC 5761, section 4).
public enum MultiplexedProtocol: Sendable {
    case stun
    case dtls
    case rtp
    case rtcp

    /// Nil for a datagram that is none of the four, and for an empty one.
    public init?(of datagram: Span<UInt8>) {
        guard datagram.count > 1 else { return nil }
        switch datagram[0] {
        case 0...3: self = .stun
        case 20...63: self = .dtls
        case 128...191: self = (192...223).contains(datagram[1]) ? .rtcp : .rtp
        default: return nil
        }
    }
}
