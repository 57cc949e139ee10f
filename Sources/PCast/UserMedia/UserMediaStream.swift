public import PCastCodecs
public import PCastCore
public import PCastDevices

/// The pictures and the sound of this machine's sources (Phenix: `PhenixUserMediaStream`). Its sources run from the
/// first publication of its ``mediaStream`` on, until they end or ``stop()`` is called. A device that is unplugged
/// becomes black and silent at once, and goes on when it is plugged in again; it fails the stream after
/// `VideoInput.timeout`.
public final class UserMediaStream: Sendable {
    /// What is published.
    public let mediaStream: MediaStream

    private let media: LocalMedia

    init(_ media: LocalMedia) {
        self.media = media
        mediaStream = MediaStream(local: media)
    }

    // MARK: What it is

    /// The size of the source's pictures at this moment, upright; nil without video.
    public var dimensions: Dimensions? { media.video?.dimensions }

    /// Which camera or other source of pictures was chosen, how it was opened, and why; nil without video, and for a
    /// file or an address.
    public var videoSelection: VideoSelection? { media.video?.selection }

    /// Which microphone or other source of sound was chosen, how it was opened, and why; nil without audio, and for a
    /// file or an address.
    public var audioSelection: AudioSelection? { media.audio?.selection }

    /// The wishes that could not be granted, each with the reason for people.
    public var unmet: [DeviceCapability: String] {
        (media.video?.unmet ?? [:]).merging(media.audio?.unmet ?? [:]) { video, _ in video }
    }

    /// Whether the camera, or whichever source of pictures it is, is open: not while nobody watches a stream on demand,
    /// nor while it is unplugged.
    public var isVideoOpen: Bool { media.video?.isOpen ?? false }

    public var isAudioOpen: Bool { media.audio?.isOpen ?? false }

    // MARK: Changes

    /// Changes the sources while the stream runs (seed 004, `applyOptions`): controls such as the flash at once, sizes
    /// and rates by opening the device again, another camera by letting it take over. Viewers get the new dimensions.
    /// What cannot be had leaves the source as it was.
    ///
    /// Tracks are neither added nor removed, and a file or an address stays as it is.
    ///
    /// - Returns: the wishes that could not be granted, each with the reason for people.
    /// - Throws: `conflict` for a device that another program has, `failed` for a demand that cannot be met, or a device
    ///   that is not there, `badRequest` for what cannot be changed.
    @discardableResult
    public func applyOptions(_ options: UserMediaOptions) async throws(PCastError) -> [DeviceCapability: String] {
        let media = media
        try await DeviceThread.run { () throws(DeviceError) in try media.apply(options) }
        return unmet
    }

    /// Says how far clockwise the device is turned while the application's user interface stands upright; followed by
    /// `VideoSourceRotationMode.followUIRotation`, and by `automatic` where there is no accelerometer.
    public func setUserInterfaceRotation(_ turn: FrameRotation) { media.video?.setUserInterfaceTurn(turn) }

    /// Stops the sources, and with them whatever publishes them. Harmless when called again.
    public func stop() { mediaStream.stop() }
}
