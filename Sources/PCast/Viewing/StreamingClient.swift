package import PCastCore

/// A client that plays streams by HLS (HTTP Live Streaming), for tokens with the capability `streaming`. The module
/// `PCastPlayback` has one, `.hls`.
public struct StreamingClient: Sendable {
    /// Begins to play the multivariant playlist at an address. Throws an error if no thread can be created.
    package let play: @Sendable (_ uri: String, _ outputs: PlaylistOutputs) throws -> any PlaylistPlayback

    /// Creates a client from the function that begins to play a playlist.
    package init(
        _ play: @escaping @Sendable (_ uri: String, _ outputs: PlaylistOutputs) throws -> any PlaylistPlayback
    ) {
        self.play = play
    }
}

/// The outputs of a stream that is played by HLS. The functions are called on the client's threads, and return quickly.
package struct PlaylistOutputs: Sendable {
    /// Whether an audio device plays the audio, if there is one.
    package var playsAudio: Bool
    /// Returns whether audio is played at the moment. Otherwise it is discarded when it is due.
    package var isAudioEnabled: @Sendable () -> Bool
    /// Receives each frame when it is due.
    package var onFrame: @Sendable (VideoFrame) -> Void
    /// Receives each change of the caption's text; nil for none.
    package var onCaption: @Sendable (String?) -> Void
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

    /// Stops, and waits for the client's threads. No output is called afterwards. It must not be called from an output.
    func stop()
}

/// A subscribed stream that is delivered by HLS. Each renderer loads it.
final class PlaylistMedia: Sendable {
    let streamID: StreamID
    /// The address of the multivariant playlist, after the redirection.
    let uri: String
    let client: StreamingClient
    let lifecycle: StreamLifecycle

    init(streamID: StreamID, uri: String, client: StreamingClient, lifecycle: StreamLifecycle) {
        (self.streamID, self.uri) = (streamID, uri)
        (self.client, self.lifecycle) = (client, lifecycle)
    }
}
