import CFFmpeg
package import PCastCore

/// An AAC-LC encoder (libavcodec), 48 kHz stereo, for outputs that do not carry Opus: RTMP, and most receivers of
/// MPEG-TS.
///
/// It accepts audio in pieces of any length. Only one thread may use it at a time.
package final class AACEncoder {
    private let context: AVCodecContextHolder
    private let frame = AVFrameHolder()
    private let packet = AVPacketHolder()
    private var waiting: [Int16] = []
    /// The number of samples per channel that were encoded since the start.
    private var count: Int64 = 0

    private static let channels = 2

    /// The AudioSpecificConfig (ISO/IEC 14496-3) that containers store before the first packet.
    package var configuration: [UInt8] {
        let codec = context.pointer.pointee
        return Array(UnsafeRawBufferPointer(start: codec.extradata, count: Int(max(0, codec.extradata_size))))
    }

    /// The number of samples per channel that a decoder outputs before the first encoded one (encoder delay).
    package var delay: Int { Int(context.pointer.pointee.initial_padding) }

    /// Opens the encoder.
    ///
    /// - Parameters:
    ///   - bitrate: The bit rate.
    ///   - isFast: Whether the faster of the encoder's quantizers is used, without temporal noise shaping (`aac_coder`
    ///     and `aac_tns` of FFmpeg).
    /// - Throws: `CodecError` if FFmpeg has no AAC encoder or cannot open it.
    package init(bitrate: Bitrate = .kilobits(128), isFast: Bool = false) throws(CodecError) {
        guard let codec = avcodec_find_encoder(AV_CODEC_ID_AAC) else { throw .missing("an encoder of AAC") }
        context = AVCodecContextHolder(codec)
        context.pointer.pointee.sample_rate = Int32(AudioFrame.sampleRate)
        context.pointer.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointer.pointee.bit_rate = Int64(bitrate.bitsPerSecond)
        context.pointer.pointee.time_base = AVRational(num: 1, den: Int32(AudioFrame.sampleRate))
        // Stores the AudioSpecificConfig in `extradata` and not in the packets, because containers require that.
        context.pointer.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointer.pointee.ch_layout, Int32(Self.channels))
        // Temporal noise shaping takes about a sixth of the time, and changed neither the size nor the error of speech,
        // music and attacks in a measurement at 128 kbit/s.
        try context.open(codec, isFast ? ["aac_coder": "fast", "aac_tns": "0"] : [:])
    }

    /// The number of samples per channel in one packet.
    private var size: Int { Int(context.pointer.pointee.frame_size) }

    /// Encodes stereo audio and returns the packets that it completes. Each packet has the number of its first sample
    /// since the start, which may be negative for the first packets (encoder delay). Throws `CodecError.failed`.
    package func encode(_ audio: AudioFrame) throws(CodecError) -> [(bytes: [UInt8], sample: Int64)] {
        waiting += audio.samples
        var packets: [(bytes: [UInt8], sample: Int64)] = []
        while waiting.count >= size * Self.channels {
            try send(waiting[..<(size * Self.channels)])
            waiting.removeFirst(size * Self.channels)
            while let packet = try receive() { packets.append(packet) }
        }
        return packets
    }

    private func send(_ samples: ArraySlice<Int16>) throws(CodecError) {
        let audio = frame.pointer
        av_frame_unref(audio)
        audio.pointee.nb_samples = Int32(size)
        audio.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        audio.pointee.sample_rate = Int32(AudioFrame.sampleRate)
        audio.pointee.pts = count
        av_channel_layout_default(&audio.pointee.ch_layout, Int32(Self.channels))
        let allocated = av_frame_get_buffer(audio, 0)
        guard allocated >= 0 else { throw .failed("encoding audio", reason: CodecError.reason(allocated)) }
        for channel in 0..<Self.channels {
            let plane = UnsafeMutableRawPointer(audio.pointee.extended_data[channel]!)
                .assumingMemoryBound(to: Float.self)
            for index in 0..<size {
                plane[index] = Float(samples[samples.startIndex + index * Self.channels + channel]) / 32_768
            }
        }
        count += Int64(size)
        let sent = avcodec_send_frame(context.pointer, audio)
        guard sent >= 0 else { throw .failed("encoding audio", reason: CodecError.reason(sent)) }
    }

    private func receive() throws(CodecError) -> (bytes: [UInt8], sample: Int64)? {
        let result = avcodec_receive_packet(context.pointer, packet.pointer)
        if result == cffmpeg_error_again() { return nil }
        guard result >= 0 else { throw .failed("encoding audio", reason: CodecError.reason(result)) }
        defer { av_packet_unref(packet.pointer) }
        let bytes = UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
        return (Array(bytes), packet.pointer.pointee.pts)
    }
}
