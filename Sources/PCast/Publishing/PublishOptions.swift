public import PCastCodecs
public import PCastCore

/// How a stream is encoded and published.
public struct PublishOptions: Hashable, Sendable {
    /// H.264 (constrained baseline, RFC 6184) unless VP8 (RFC 7741) is chosen.
    public var videoCodec: Codec
    /// A hardware encoder where one works, unless another is chosen; one that fails is replaced by libx264.
    public var videoEncoder: VideoEncoderChoice
    /// The encoder's target; nil takes the quality ladder's for the pictures' height (``BitrateLadder``).
    public var videoBitrate: Bitrate?
    public var audioBitrate: Bitrate
    /// One to three layers of the picture side by side, each half as wide and high as the next (Phenix:
    /// `multi-bitrate-contribution`): each viewer gets the best that its link carries, and a layer that nobody gets is not
    /// encoded. Nil for three where the stream's token has that capability, and else one.
    public var layers: Int?
    /// Whether the stream goes on, under its id, that was published before by the same session, with the same token, or
    /// with tokens that apply the same tags, and with the same tags, where its publisher is gone: one whose process died
    /// and came back makes no second stream then.
    public var resumes = false

    public init(
        videoCodec: Codec = .h264, videoEncoder: VideoEncoderChoice = .automatic, videoBitrate: Bitrate? = nil,
        audioBitrate: Bitrate = .kilobits(64), layers: Int? = nil
    ) {
        self.videoCodec = videoCodec
        self.videoEncoder = videoEncoder
        self.videoBitrate = videoBitrate
        self.audioBitrate = audioBitrate
        self.layers = layers
    }
}
