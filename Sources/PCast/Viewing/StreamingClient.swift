package import PCastCore
package import PCastRendering

/// A client that plays streams by HLS (HTTP Live Streaming): streams whose token has the capability `streaming`, and the
/// window in which a renderer can seek. The module `PCastPlayback` has one, `.hls`.
public struct StreamingClient: Sendable {
    /// Begins to play the multivariant playlist at an address, from a target or, without one, at the live edge. Throws an
    /// error if no thread can be created.
    package let play:
        @Sendable (_ uri: String, _ start: PlaylistTarget?, _ outputs: PlaylistOutputs) throws -> any PlaylistPlayback

    /// Creates a client from the function that begins to play a playlist.
    package init(
        _ play:
            @escaping @Sendable (_ uri: String, _ start: PlaylistTarget?, _ outputs: PlaylistOutputs) throws ->
            any PlaylistPlayback
    ) {
        self.play = play
    }
}

/// The target of a seek in the window of a live playlist. It is clamped to the window.
package enum PlaylistTarget: Hashable, Sendable {
    /// The frame that was captured at a time.
    case time(WallTime)
    /// The position at a distance after the beginning of the window.
    case beginning(TimeSpan)
    /// The position at a distance after the end of the window; negative before it.
    case end(TimeSpan)
}

/// The outputs of a stream that is played by HLS. The functions are called on the client's threads, and return quickly.
package struct PlaylistOutputs: Sendable {
    /// Whether an audio device plays the audio, if there is one.
    package var playsAudio: Bool
    /// The output that plays the audio; nil for the device of the client, or for none.
    package var audioOutput: (any AudioOutput)?
    /// Receives the played audio with its presentation times, ahead of these times; nil for none.
    package var audioTap: (@Sendable (AudioFrame, Instant) -> Void)?
    /// Returns whether audio is played at the moment. Otherwise it is discarded when it is due.
    package var isAudioEnabled: @Sendable () -> Bool
    /// Receives each frame when it is due.
    package var onFrame: @Sendable (VideoFrame) -> Void
    /// Receives each change of the caption's text; nil for none.
    package var onCaption: @Sendable (String?) -> Void
    /// Called when the start or a seek is complete, with the capture time of the displayed frame; nil if it is unknown.
    package var onLanded: @Sendable (WallTime?) -> Void = { _ in }
    /// Receives the capture time of the position as it advances.
    package var onPosition: @Sendable (WallTime) -> Void = { _ in }
    /// Called once when the stream has ended, with nil, or when it failed, with the reason.
    package var onEnd: @Sendable (String?) -> Void

    /// Creates outputs.
    package init(
        playsAudio: Bool, isAudioEnabled: @escaping @Sendable () -> Bool,
        onFrame: @escaping @Sendable (VideoFrame) -> Void, onCaption: @escaping @Sendable (String?) -> Void,
        onEnd: @escaping @Sendable (String?) -> Void
    ) {
        (self.playsAudio, self.isAudioEnabled) = (playsAudio, isAudioEnabled)
        (self.onFrame, self.onCaption, self.onEnd) = (onFrame, onCaption, onEnd)
    }
}

/// A stream that is being played by HLS.
package protocol PlaylistPlayback: AnyObject, Sendable {
    /// Whether an audio device plays the audio.
    var isAudioPlayed: Bool { get }
    /// Whether the audio is muted.
    var isMuted: Bool { get set }
    /// The volume, 0...1.
    var volume: Double { get set }
    /// The number of frames that were late, so that they were not passed on.
    var framesDropped: Int { get }
    /// The capture time of the position; nil if it is unknown.
    var time: WallTime? { get }
    /// The capture times of the ends of the window; nil before the playlist is loaded.
    var window: ClosedRange<WallTime>? { get }

    /// Plays.
    func play()

    /// Pauses. A seek still displays the frame of its target.
    func pause()

    /// Seeks to a target, as soon as the playlist is loaded. A later seek supersedes an earlier one.
    func seek(to target: PlaylistTarget)

    /// Stops, and waits for the client's threads. No output is called afterwards. It must not be called from an output.
    func stop()
}

/// A subscribed stream that is delivered by HLS, or its window. Each renderer loads it.
final class PlaylistMedia: Sendable {
    let streamID: StreamID
    /// The address of the multivariant playlist, after the redirection.
    let uri: String
    let client: StreamingClient
    let lifecycle: StreamLifecycle
    /// The window of a stream in real time; nil for a stream that is delivered by HLS.
    let offer: TimeShiftOffer?

    init(
        streamID: StreamID, uri: String, client: StreamingClient, lifecycle: StreamLifecycle,
        offer: TimeShiftOffer? = nil
    ) {
        (self.streamID, self.uri) = (streamID, uri)
        (self.client, self.lifecycle, self.offer) = (client, lifecycle, offer)
    }
}
