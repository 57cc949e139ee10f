import CFFmpeg

/// An owned `AVPacket`, which is freed with its holder.
final class AVPacketHolder {
    let pointer: UnsafeMutablePointer<AVPacket>

    init() {
        guard let pointer = av_packet_alloc() else { fatalError("out of memory for a packet") }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }
}

/// An owned `AVFrame`, which is freed with its holder.
final class AVFrameHolder {
    let pointer: UnsafeMutablePointer<AVFrame>

    init() {
        guard let pointer = av_frame_alloc() else { fatalError("out of memory for a frame") }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }
}

/// An owned `AVCodecContext`, which is freed with its holder.
final class AVCodecContextHolder {
    let pointer: UnsafeMutablePointer<AVCodecContext>

    init(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { fatalError("out of memory for a codec") }
        self.pointer = pointer
        // Limits the memory that an untrusted header can make the codec allocate: slightly more than 8K.
        pointer.pointee.max_pixels = 8_192 * 8_192
        AVLog.quiet()
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecContext>? = pointer
        avcodec_free_context(&pointer)
    }

    func open(_ codec: UnsafePointer<AVCodec>, _ options: [String: String] = [:]) throws(CodecError) {
        for (name, value) in options { av_opt_set(pointer.pointee.priv_data, name, value, 0) }
        let result = avcodec_open2(pointer, codec, nil)
        guard result >= 0 else {
            throw .failed("opening \(String(cString: codec.pointee.name))", reason: CodecError.reason(result))
        }
    }

    /// Opens a decoder for packets with times in `timeBase`. Returns nil if the parameters are invalid. Throws
    /// `CodecError.failed` if it cannot be opened.
    static func decoder(
        _ codec: UnsafePointer<AVCodec>, _ parameters: UnsafeMutablePointer<AVCodecParameters>,
        timeBase: AVRational,
        threads: Int32 = 1
    ) throws(CodecError) -> AVCodecContextHolder? {
        let decoder = AVCodecContextHolder(codec)
        guard avcodec_parameters_to_context(decoder.pointer, parameters) >= 0 else { return nil }
        decoder.pointer.pointee.thread_count = threads
        decoder.pointer.pointee.pkt_timebase = timeBase
        try decoder.open(codec)
        return decoder
    }
}

/// FFmpeg's log.
enum AVLog {
    private static let silenced: Void = av_log_set_level(AV_LOG_QUIET)

    /// Disables the log. Its messages go to standard error without context, and errors are also returned as numbers.
    static func quiet() { silenced }
}
