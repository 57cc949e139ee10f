/// Another device that plays the content of a session, for example as a viewer of a PCast stream. Meanwhile the local
/// audio output is silent (Brightcove's external playback, which uses AirPlay).
public protocol ExternalPlayback: AnyObject, Sendable {
    /// Starts playback on the device, and returns when it plays. Throws an error if the start fails.
    func start(_ session: PlaybackSession) async throws

    /// Stops playback on the device. It is called once for each successful start: at the application's request, or when
    /// the session is over.
    func stop(_ session: PlaybackSession) async

    /// Whether playback on the device has ended, for any reason.
    var hasEnded: Bool { get }
}

extension ExternalPlayback {
    /// False: playback on the device ends only by `stop(_:)`.
    public var hasEnded: Bool { false }
}
