/// The role in the handshake: the client (`a=setup:active`) sends the first message (RFC 5763, section 5).
package enum DTLSRole: Sendable {
    /// The endpoint that sends ClientHello.
    case client
    /// The endpoint that waits for ClientHello.
    case server
}
