import CFFmpeg
import PCastCore

/// Converts decoded audio of any sample format, rate and channel layout to 16 bits at 48 kHz in one or two channels.
final class AudioResampler {
    private var context: OpaquePointer?
    private let channels: Int
    private var format: Int32 = -1
    private var rate: Int32 = 0
    private var sourceChannels: Int32 = 0

    init(channels: Int) { self.channels = channels }

    deinit { swr_free(&context) }

    func resample(_ audio: UnsafeMutablePointer<AVFrame>) throws(CodecError) -> [Int16] {
        try prepare(audio)
        let capacity = Int(swr_get_out_samples(context, audio.pointee.nb_samples))
        guard capacity > 0 else { return [] }
        var made: Int32 = 0
        let samples = [Int16](unsafeUninitializedCapacity: capacity * channels) { buffer, count in
            var target: UnsafeMutablePointer<UInt8>? = UnsafeMutableRawPointer(buffer.baseAddress!)
                .assumingMemoryBound(to: UInt8.self)
            made = audio.pointee.extended_data.withMemoryRebound(
                to: UnsafePointer<UInt8>?.self, capacity: Int(sourceChannels)
            ) { source in
                swr_convert(context, &target, Int32(capacity), source, audio.pointee.nb_samples)
            }
            count = max(0, Int(made)) * channels
        }
        guard made >= 0 else { throw .failed("resampling", reason: CodecError.reason(made)) }
        return samples
    }

    private func prepare(_ audio: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        guard
            context == nil || format != audio.pointee.format || rate != audio.pointee.sample_rate
                || sourceChannels != audio.pointee.ch_layout.nb_channels
        else { return }
        format = audio.pointee.format
        rate = audio.pointee.sample_rate
        sourceChannels = audio.pointee.ch_layout.nb_channels
        swr_free(&context)
        var target = AVChannelLayout()
        av_channel_layout_default(&target, Int32(channels))
        var source = AVChannelLayout()
        if audio.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC {
            av_channel_layout_default(&source, sourceChannels)
        } else {
            av_channel_layout_copy(&source, &audio.pointee.ch_layout)
        }
        defer { av_channel_layout_uninit(&source) }
        let result = swr_alloc_set_opts2(
            &context, &target, AV_SAMPLE_FMT_S16, Int32(AudioFrame.sampleRate), &source,
            AVSampleFormat(format), rate, 0, nil)
        // By default, libswresample reduces each channel by 3 dB when it converts mono to stereo.
        if result >= 0, sourceChannels == 1, channels == 2 { swr_set_matrix(context, [1, 1], 1) }
        guard result >= 0, swr_init(context) >= 0 else {
            throw .unsupported("audio of \(rate) Hz with \(sourceChannels) channels cannot be converted")
        }
    }
}
