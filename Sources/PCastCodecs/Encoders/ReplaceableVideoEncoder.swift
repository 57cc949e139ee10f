import PCastMedia

/// An encoder that may fail while it runs, and then is replaced, once: a graphics processor that is reset, or taken by
/// another program, ends no stream.
final class ReplaceableVideoEncoder: VideoEncoder {
    private var current: any VideoEncoder
    private var bitrate: Bitrate
    private var replacement: ((Bitrate) throws(CodecError) -> any VideoEncoder)?

    var name: String { current.name }

    /// - Parameter replacement: opens what takes over.
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
            // Another size is no failure of the encoder's.
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
