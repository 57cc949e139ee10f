/// How far a handshake is.
public enum DTLSState: Equatable, Sendable {
    case new
    case handshaking
    case established(SRTPKeyingMaterial)
    case failed(DTLSFailure)
    /// The peer said goodbye (close_notify).
    case closed
}
