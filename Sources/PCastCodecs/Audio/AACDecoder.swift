import CFFmpeg
import PCastCore

/// An AAC decoder (libavcodec), with output at 48 kHz in 16 bits.
///
/// Only one thread may use it at a time.
final class AACDecoder {
    private let context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let frame = AVFrameHolder()
    private let resampler: AudioResampler

    /// Opens the decoder.
    ///
    /// - Parameters:
    ///   - configuration: The AudioSpecificConfig (ISO/IEC 14496-3).
    ///   - channels: The number of output channels, 1 or 2.
    /// - Throws: `CodecError` if FFmpeg has no AAC decoder or cannot open it.
    init(configuration: [UInt8], channels: Int) throws(CodecError) {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_AAC) else { throw .missing("a decoder of AAC") }
        var parameters = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&parameters) }
        // libavcodec reads beyond the end.
        let size = configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard let parameters, let memory = av_mallocz(size) else {
            throw .failed("opening the AAC decoder", reason: "out of memory")
        }
        memory.copyMemory(from: configuration, byteCount: configuration.count)
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = AV_CODEC_ID_AAC
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(configuration.count)
        let timeBase = AVRational(num: 1, den: Int32(AudioFrame.sampleRate))
        guard let context = try AVCodecContextHolder.decoder(codec, parameters, timeBase: timeBase) else {
            throw .damaged("the AAC configuration is invalid")
        }
        self.context = context
        resampler = AudioResampler(channels: channels)
    }

    /// Decodes a frame. Returns the interleaved samples. Throws `CodecError.damaged` if the frame is empty or invalid.
    func decode(_ bytes: [UInt8]) throws(CodecError) -> [Int16] {
        guard !bytes.isEmpty, let size = Int32(exactly: bytes.count) else { throw .damaged("an empty audio frame") }
        let result = av_new_packet(packet.pointer, size)
        guard result >= 0 else { throw .failed("decoding", reason: CodecError.reason(result)) }
        defer { av_packet_unref(packet.pointer) }
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(
                from: bytes)
        }
        let sent = avcodec_send_packet(context.pointer, packet.pointer)
        guard sent >= 0 else { throw .damaged(CodecError.reason(sent)) }
        var samples: [Int16] = []
        while true {
            let result = avcodec_receive_frame(context.pointer, frame.pointer)
            if result == cffmpeg_error_again() || result == cffmpeg_error_end_of_file() { return samples }
            guard result >= 0 else { throw .damaged(CodecError.reason(result)) }
            defer { av_frame_unref(frame.pointer) }
            samples += try resampler.resample(frame.pointer)
        }
    }
}
