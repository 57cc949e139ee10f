public import PCastCore

/// Pictures and sound that a program makes itself, or has from elsewhere, as a stream that can be published and looked at.
/// Goes on until it is stopped, or nobody holds it.
public final class ApplicationMedia: Sendable {
    /// What is published.
    public let mediaStream: MediaStream

    private let media: PushedMedia

    /// - Parameters:
    ///   - frameRate: pictures a second, as far as that is known: what encoders are told; nil without video.
    ///   - channels: of the sound, 1 or 2; nil without audio.
    public init(frameRate: Double? = 30, channels: Int? = 2) {
        precondition(channels.map { (1...2).contains($0) } ?? true, "sound has one or two channels")
        media = PushedMedia(videoRate: frameRate, soundChannels: channels)
        mediaStream = MediaStream(application: media)
    }

    deinit { media.stop() }

    /// Whether anybody takes what is pushed.
    public var isTaken: Bool { media.isTaken }

    /// Gives a picture out at its moment; its times go on with time. Where none follows, this one stands for whoever comes later.
    /// Never blocks.
    public func push(_ picture: VideoFrame) { media.push(picture) }

    /// Gives sound out, at its moment or before. By one thread at a time; never blocks.
    public func push(_ sound: AudioFrame) { media.push(sound) }

    /// Ends the stream, and whatever publishes it. Harmless when called again.
    public func stop() { media.stop() }
}
