public import PCastDevices
public import PCastMedia

/// Which sources a ``UserMediaStream`` is made of (Phenix: `PhenixUserMediaOptions`).
public struct UserMediaOptions: Hashable, Sendable {
    /// What sources are written as: `synthetic`, `null`, a path or a URI; nil for no such track. The same file named
    /// twice is read once, and its sound and pictures stay in step.
    public var video: SourceSpecification?
    public var audio: SourceSpecification?
    /// Of a source that can choose; a file has its own.
    public var dimensions: Dimensions
    /// Whole pictures a second, of a source that can choose.
    public var frameRate: Int
    /// 1 or 2.
    public var channels: Int

    public init(
        video: SourceSpecification? = .synthetic, audio: SourceSpecification? = .synthetic,
        dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30, channels: Int = 2
    ) {
        self.video = video
        self.audio = audio
        self.dimensions = dimensions
        self.frameRate = frameRate
        self.channels = channels
    }

    /// Sources as people write them.
    ///
    /// - Throws: `badRequest` for text that names no source.
    public init(videoSource: String?, audioSource: String?) throws(PCastError) {
        do throws(DeviceError) {
            var options = UserMediaOptions(video: nil, audio: nil)
            if let videoSource { options.video = try SourceSpecification(videoSource) }
            if let audioSource { options.audio = try SourceSpecification(audioSource) }
            self = options
        } catch {
            throw PCastError(.badRequest, .usage, "\(error)")
        }
    }
}
