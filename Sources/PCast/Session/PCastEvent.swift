public import PCastCore

/// What a ``PCast`` tells of its session (seed 004: the callbacks of `start`).
public enum PCastEvent: Hashable, Sendable {
    /// Authentication succeeded (`ok`, with the session), failed, or is to be done anew (`unauthorized`: call `start`
    /// with another token).
    case authenticated(RequestStatus, SessionID?)
    /// Connected to the platform.
    case online
    /// The connection broke. Streams go on where they can, new ones cannot be started; the SDK connects again by
    /// itself, and says ``online`` when it has, or ``authenticated(_:_:)`` when it may not.
    case offline
}
