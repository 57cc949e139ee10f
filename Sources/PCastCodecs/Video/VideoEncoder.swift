public import PCastMedia

/// Makes coded pictures of raw ones, each at once: no picture waits for a later one.
///
/// Used by one thread at a time.
public protocol VideoEncoder: AnyObject {
    /// - Parameter forceKeyFrame: make a picture that can be decoded alone.
    /// - Returns: the coded picture; empty when the encoder left it out to keep its rate.
    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame]

    /// Changes the rate while it runs.
    func setBitrate(_ bitrate: Bitrate) throws(CodecError)
}
