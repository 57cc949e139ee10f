public import PCastMedia

/// Makes coded pictures of raw ones, each at once: no picture waits for a later one.
///
/// Used by one thread at a time.
public protocol VideoEncoder: AnyObject {
    /// Which it is, as FFmpeg names them: `libx264`, `libvpx`, `h264_nvenc`, `h264_vaapi`, `h264_v4l2m2m`.
    var name: String { get }

    /// - Parameter forceKeyFrame: make a picture that can be decoded alone.
    /// - Returns: the coded picture; empty when the encoder left it out to keep its rate. A hardware encoder may give
    ///   it with a later one's.
    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame]

    /// Changes the rate while it runs.
    func setBitrate(_ bitrate: Bitrate) throws(CodecError)
}
