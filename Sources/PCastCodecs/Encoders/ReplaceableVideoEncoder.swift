package import PCastCore

/// An encoder that is replaced once if it fails while encoding. A GPU that is reset or busy does not end the stream.
final class ReplaceableVideoEncoder: VideoEncoder {
    private var current: any VideoEncoder
    private var bitrate: Bitrate
    private var replacement: ((Bitrate) throws(CodecError) -> any VideoEncoder)?

    var name: String { current.name }

    /// Creates an encoder that calls `replacement` after the first failure.
    init(
        _ first: any VideoEncoder, bitrate: Bitrate,
        replacement: @escaping (Bitrate) throws(CodecError) -> any VideoEncoder
    ) {
        current = first
        self.bitrate = bitrate
        self.replacement = replacement
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) {
        self.bitrate = bitrate
        do throws(CodecError) {
            try current.setBitrate(bitrate)
        } catch {
            try replace(after: error)
        }
    }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        do throws(CodecError) {
            return try current.encode(frame, forceKeyFrame: forceKeyFrame)
        } catch {
            // A frame of another size is a caller's error and not a failure of the encoder.
            if case .unsupported = error { throw error }
            try replace(after: error)
            return try current.encode(frame, forceKeyFrame: true)
        }
    }

    private func replace(after error: CodecError) throws(CodecError) {
        guard let replacement else { throw error }
        self.replacement = nil
        current = try replacement(bitrate)
    }
}

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
