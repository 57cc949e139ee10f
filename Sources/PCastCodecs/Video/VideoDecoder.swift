package import PCastCore

/// A video decoder without delay.
///
/// Only one thread may use it at a time. Frames come in decoding order without gaps; a gap must be followed by a key
/// frame.
package protocol VideoDecoder: AnyObject {
    /// Decodes a frame. Returns no frame if it is not for presentation. Throws `CodecError.damaged`, also for every
    /// frame before the next key frame.
    func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame]
}
