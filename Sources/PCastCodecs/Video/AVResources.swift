import CFFmpeg

/// Objects of libav, each freed once, when the last reference to its holder goes.
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

final class AVCodecContextHolder {
    let pointer: UnsafeMutablePointer<AVCodecContext>

    init(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { fatalError("out of memory for a codec") }
        self.pointer = pointer
        // What a foreign header may make the codec allocate: pictures of 8K and a little more.
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

    /// A decoder of what is coded so; nil when its header makes no sense.
    ///
    /// - Parameter timeBase: of the packets' times.
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

/// libav's own log.
enum AVLog {
    private static let silenced: Void = av_log_set_level(AV_LOG_QUIET)

    /// Its messages go to standard error without any context, and the errors come as numbers anyway.
    static func quiet() { silenced }
}
