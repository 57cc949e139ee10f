/// What a datagram on the one port of a WebRTC peer is, told by its first bytes (RFC 7983 section 7, RFC 5761 section 4).
public enum DatagramKind: Hashable, Sendable {
    case stun, dtls, rtp, rtcp, unknown

    public init(_ datagram: Span<UInt8>) {
        guard datagram.count > 1 else {
            self = .unknown
            return
        }
        switch datagram[0] {
        case 0...3: self = .stun
        case 20...63: self = .dtls
        case 128...191: self = RTPHeader.isRTCP(secondByte: datagram[1]) ? .rtcp : .rtp
        default: self = .unknown
        }
    }
}
