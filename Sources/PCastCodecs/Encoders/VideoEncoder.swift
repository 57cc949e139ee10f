package import PCastCore

/// A video encoder without look-ahead: no frame waits for a later one.
///
/// Only one thread may use it at a time.
package protocol VideoEncoder: AnyObject {
    /// FFmpeg's name of the encoder: `libx264`, `libvpx`, `h264_nvenc`, `h264_vaapi` or `h264_v4l2m2m`.
    var name: String { get }

    /// Encodes a frame.
    ///
    /// - Parameters:
    ///   - frame: The frame, of the size that the encoder was opened with.
    ///   - forceKeyFrame: Whether the result must be a key frame.
    /// - Returns: The encoded frame. It is empty if the rate control dropped the frame; a hardware encoder may return
    ///   it with a later frame.
    /// - Throws: `CodecError.unsupported` for a frame of another size, `CodecError.failed`.
    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame]

    /// Changes the bitrate while encoding. Throws `CodecError.failed` if the encoder refuses it.
    func setBitrate(_ bitrate: Bitrate) throws(CodecError)
}
