/// Which end of the handshake this is: the client (`a=setup:active`) speaks first (RFC 5763, section 5).
public enum DTLSRole: Sendable {
    case client
    case server
}
