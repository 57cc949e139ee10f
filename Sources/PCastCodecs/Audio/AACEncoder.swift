import CFFmpeg
public import PCastMedia

/// AAC-LC by libavcodec, 48 kHz in two channels, for what takes no Opus: RTMP, and most of what reads MPEG-TS.
///
/// Used by one thread at a time. Sound may come in pieces of any length.
public final class AACEncoder {
    private let context: AVCodecContextHolder
    private let frame = AVFrameHolder()
    private let packet = AVPacketHolder()
    private var waiting: [Int16] = []
    /// Samples that went in, since the beginning.
    private var count: Int64 = 0

    private static let channels = 2

    /// What an encoder knows of the sound before the first packet: AudioSpecificConfig (ISO 14496-3).
    public var configuration: [UInt8] {
        let codec = context.pointer.pointee
        return Array(UnsafeRawBufferPointer(start: codec.extradata, count: Int(max(0, codec.extradata_size))))
    }

    public init(bitrate: Bitrate = .kilobits(128)) throws(CodecError) {
        guard let codec = avcodec_find_encoder(AV_CODEC_ID_AAC) else { throw .missing("an encoder of AAC") }
        context = AVCodecContextHolder(codec)
        context.pointer.pointee.sample_rate = Int32(AudioFrame.sampleRate)
        context.pointer.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointer.pointee.bit_rate = Int64(bitrate.bitsPerSecond)
        context.pointer.pointee.time_base = AVRational(num: 1, den: Int32(AudioFrame.sampleRate))
        // Its configuration apart, as containers want it.
        context.pointer.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointer.pointee.ch_layout, Int32(Self.channels))
        try context.open(codec)
    }

    /// Samples of one packet.
    private var size: Int { Int(context.pointer.pointee.frame_size) }

    /// Takes in sound in two channels; gives the packets that became full with it, each with its first sample's number
    /// since the beginning, which may be negative at first.
    public func encode(_ sound: AudioFrame) throws(CodecError) -> [(bytes: [UInt8], sample: Int64)] {
        waiting += sound.samples
        var packets: [(bytes: [UInt8], sample: Int64)] = []
        while waiting.count >= size * Self.channels {
            try send(waiting[..<(size * Self.channels)])
            waiting.removeFirst(size * Self.channels)
            while let packet = try receive() { packets.append(packet) }
        }
        return packets
    }

    private func send(_ samples: ArraySlice<Int16>) throws(CodecError) {
        let sound = frame.pointer
        av_frame_unref(sound)
        sound.pointee.nb_samples = Int32(size)
        sound.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        sound.pointee.sample_rate = Int32(AudioFrame.sampleRate)
        sound.pointee.pts = count
        av_channel_layout_default(&sound.pointee.ch_layout, Int32(Self.channels))
        let allocated = av_frame_get_buffer(sound, 0)
        guard allocated >= 0 else { throw .failed("encoding sound", reason: CodecError.reason(allocated)) }
        for channel in 0..<Self.channels {
            let plane = UnsafeMutableRawPointer(sound.pointee.extended_data[channel]!)
                .assumingMemoryBound(to: Float.self)
            for index in 0..<size {
                plane[index] = Float(samples[samples.startIndex + index * Self.channels + channel]) / 32_768
            }
        }
        count += Int64(size)
        let sent = avcodec_send_frame(context.pointer, sound)
        guard sent >= 0 else { throw .failed("encoding sound", reason: CodecError.reason(sent)) }
    }

    private func receive() throws(CodecError) -> (bytes: [UInt8], sample: Int64)? {
        let result = avcodec_receive_packet(context.pointer, packet.pointer)
        if result == cffmpeg_error_again() { return nil }
        guard result >= 0 else { throw .failed("encoding sound", reason: CodecError.reason(result)) }
        defer { av_packet_unref(packet.pointer) }
        let bytes = UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
        return (Array(bytes), packet.pointer.pointee.pts)
    }
}
