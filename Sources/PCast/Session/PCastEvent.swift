public import PCastCore

/// An event of a client's session (Phenix: the callbacks of `start`).
public enum PCastEvent: Hashable, Sendable {
    /// The authentication succeeded (`ok`, with the session) or failed. `unauthorized` requires another `start` with a
    /// new token.
    case authenticated(RequestStatus, SessionID?)
    /// The client is connected to the platform.
    case online
    /// The connection was lost. Streams continue as far as possible, but new ones cannot be started. The client
    /// reconnects automatically. ``online`` follows, or ``authenticated(_:_:)`` if it fails.
    case offline
}
