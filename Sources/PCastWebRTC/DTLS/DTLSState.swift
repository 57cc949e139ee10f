/// The progress of a handshake.
package enum DTLSState: Equatable, Sendable {
    /// The handshake has not started.
    case new
    /// Flights are being exchanged.
    case handshaking
    /// The handshake has finished with keys.
    case established(SRTPKeyingMaterial)
    /// The handshake has failed.
    case failed(DTLSFailure)
    /// The peer has closed the connection (close_notify), or this side has.
    case closed
}
