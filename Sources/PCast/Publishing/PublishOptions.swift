public import PCastMedia

/// How a stream is encoded and published.
public struct PublishOptions: Hashable, Sendable {
    /// H.264 (constrained baseline, RFC 6184) unless VP8 (RFC 7741) is chosen.
    public var videoCodec: Codec
    /// The encoder's target; nil takes the quality ladder's for the pictures' height (``BitrateLadder``).
    public var videoBitrate: Bitrate?
    public var audioBitrate: Bitrate

    public init(
        videoCodec: Codec = .h264, videoBitrate: Bitrate? = nil, audioBitrate: Bitrate = .kilobits(64)
    ) {
        self.videoCodec = videoCodec
        self.videoBitrate = videoBitrate
        self.audioBitrate = audioBitrate
    }
}
