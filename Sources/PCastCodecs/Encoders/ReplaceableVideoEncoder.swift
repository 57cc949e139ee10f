import PCastCore

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
