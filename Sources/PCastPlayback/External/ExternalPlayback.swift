/// Another place that plays what a session plays, such as a device that watches it through PCast: while it does, the
/// session's own loudspeaker is silent (Brightcove's external playback, which there is AirPlay).
public protocol ExternalPlayback: AnyObject, Sendable {
    /// Begins there, and returns when it has.
    func start(_ session: PlaybackSession) async throws

    /// Ends there. Told once for each start that succeeded: by whoever asks for it, or when the session is over.
    func stop(_ session: PlaybackSession) async

    /// Whether what began there is over, whoever ended it.
    var hasEnded: Bool { get }
}

extension ExternalPlayback {
    public var hasEnded: Bool { false }
}
