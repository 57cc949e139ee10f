public import PCastCodecs
public import PCastCore

/// Options for encoding and publishing a stream.
public struct PublishOptions: Hashable, Sendable {
    /// The video codec: H.264 (constrained baseline, RFC 6184) or VP8 (RFC 7741).
    public var videoCodec: Codec
    /// The video encoder. ``VideoEncoderChoice/automatic`` uses a hardware encoder that works, and replaces it by
    /// libx264 if it fails.
    public var videoEncoder: VideoEncoderChoice
    /// The target bit rate of the video encoder; nil for the default for the height of the video.
    public var videoBitrate: Bitrate?
    /// The bit rate of the audio encoder.
    public var audioBitrate: Bitrate
    /// The number of simultaneous layers of video, 1...3, each half as wide and high as the next (Phenix:
    /// `multi-bitrate-contribution`).
    ///
    /// Each subscriber receives the best layer that its path carries, and a layer without subscribers is not encoded.
    /// Nil for three if the stream's token has that capability, else for one.
    public var layers: Int?
    /// Whether an earlier stream is resumed under its ID, if it has the same tags and its publisher is gone.
    ///
    /// The earlier stream was published by the same session, with the same token, or with a token that applies the same
    /// tags. A publisher whose process restarted does not create a second stream then.
    public var resumes: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - videoCodec: The video codec.
    ///   - videoEncoder: The video encoder.
    ///   - videoBitrate: The target bit rate of the video encoder; nil for the default for the height of the video.
    ///   - audioBitrate: The bit rate of the audio encoder.
    ///   - layers: The number of layers of video, 1...3; nil for the number that the token implies.
    ///   - resumes: Whether an earlier stream is resumed.
    public init(
        videoCodec: Codec = .h264, videoEncoder: VideoEncoderChoice = .automatic, videoBitrate: Bitrate? = nil,
        audioBitrate: Bitrate = .kilobits(64), layers: Int? = nil, resumes: Bool = false
    ) {
        self.videoCodec = videoCodec
        self.videoEncoder = videoEncoder
        self.videoBitrate = videoBitrate
        self.audioBitrate = audioBitrate
        self.layers = layers
        self.resumes = resumes
    }
}

/// Options for an address that the platform pulls for ``PCast/publishFromUri(streamToken:uri:tags:connectOptions:)``.
public struct ConnectOptions: Hashable, Sendable {
    /// The maximum frame rate in frames per second; nil for no limit.
    public var maximumFrameRate: Double?
    /// The duration at the beginning of the source that is not published; at most one minute.
    public var prerollSkip: Duration
    /// Whether the stream continues after the end of this program's session. It ends with its source, or when it is
    /// terminated by its ID.
    public var isDetached: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - maximumFrameRate: The maximum frame rate in frames per second; nil for no limit.
    ///   - prerollSkip: The duration at the beginning of the source that is not published; at most one minute.
    ///   - isDetached: Whether the stream continues after the end of this program's session.
    public init(maximumFrameRate: Double? = nil, prerollSkip: Duration = .zero, isDetached: Bool = false) {
        self.maximumFrameRate = maximumFrameRate
        self.prerollSkip = prerollSkip
        self.isDetached = isDetached
    }

    /// The options in the form of `CreateStream.connectOptions`.
    var wire: [String] {
        var options: [String] = []
        if let maximumFrameRate { options.append("source-uri-video-fps-max=\(maximumFrameRate)") }
        if prerollSkip > .zero {
            options.append("source-uri-preroll-skip-duration=\(TimeSpan(prerollSkip).nanoseconds / 1_000_000)")
        }
        return options
    }
}
