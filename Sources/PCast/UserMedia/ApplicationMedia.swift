public import PCastCore

/// Video and audio that a program creates itself or gets from elsewhere, as a stream that can be published and
/// rendered. It lasts until it is stopped or released.
public final class ApplicationMedia: Sendable {
    /// The stream to publish.
    public let mediaStream: MediaStream

    private let media: PushedMedia

    /// Creates media without frames.
    ///
    /// - Parameters:
    ///   - frameRate: The approximate frame rate in frames per second, for encoders; nil without video.
    ///   - channels: The number of audio channels, 1 or 2; nil without audio.
    public init(frameRate: Double? = 30, channels: Int? = 2) {
        precondition(channels.map { (1...2).contains($0) } ?? true, "audio must have one or two channels")
        media = PushedMedia(videoRate: frameRate, audioChannels: channels)
        mediaStream = MediaStream(application: media)
    }

    deinit { media.stop() }

    /// Whether the media has subscribers or renderers.
    public var hasSubscribers: Bool { media.hasSubscribers }

    /// Emits a frame, at the time at which it is to be shown. Its timestamps have to advance with real time. The last
    /// frame is repeated for later subscribers if none follows. Never blocks.
    public func push(_ frame: VideoFrame) { media.push(frame) }

    /// Emits audio, at the time at which it is to be played or earlier. Must not be called concurrently. Never blocks.
    public func push(_ audio: AudioFrame) { media.push(audio) }

    /// Ends the stream and its publications. It has no effect when it is called again.
    public func stop() { media.stop() }
}
