public import PCastMedia

/// Makes raw pictures of coded ones, each at once.
///
/// Used by one thread at a time. Frames are fed in decoding order without holes; after a hole, with a key frame.
public protocol VideoDecoder: AnyObject {
    /// - Returns: the picture; empty when the frame shows none.
    /// - Throws: `CodecError.damaged`; then, and at the beginning, also for each frame before the next key frame.
    func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame]
}
