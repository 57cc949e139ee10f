/// The protocol of a datagram on the port of a WebRTC peer, which its first bytes determine (RFC 7983, section 7; RFC
/// 5761, section 4).
package enum DatagramKind: Hashable, Sendable {
    /// The protocols; `unknown` for any other datagram.
    case stun, dtls, rtp, rtcp, unknown

    /// Determines the protocol of a datagram.
    package init(_ datagram: Span<UInt8>) {
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
