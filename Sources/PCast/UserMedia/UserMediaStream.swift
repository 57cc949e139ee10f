public import PCastMedia

/// The pictures and the sound of this machine's sources (Phenix: `PhenixUserMediaStream`). Its sources run from the
/// first publication of its ``mediaStream`` on, until they end or ``stop()`` is called.
public final class UserMediaStream: Sendable {
    /// What is published.
    public let mediaStream: MediaStream

    /// The size of the source's pictures; nil without video.
    public let dimensions: Dimensions?

    init(_ media: LocalMedia) {
        mediaStream = MediaStream(local: media)
        dimensions = media.video?.dimensions
    }

    /// Stops the sources, and with them whatever publishes them. Harmless when called again.
    public func stop() { mediaStream.stop() }
}
