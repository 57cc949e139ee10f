import CFFmpeg
public import PCastMedia
import Synchronization

/// Reads and decodes a file, or any address that libavformat opens.
///
/// Pictures and sounds come in the order of their decoding, each with its moment since the media's beginning. Used by
/// one thread at a time, but for `cancel`.
public final class MediaReader: @unchecked Sendable {  // owned by one thread at a time; `cancel` sets an atomic
    public enum Item: Sendable {
        case video(VideoFrame)
        case audio(AudioFrame)
    }

    private struct Track {
        let index: Int32
        let decoder: AVCodecContextHolder
        let timeBase: AVRational
    }

    private let uri: String
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private var video: Track?
    private var audio: Track?
    private let packet = AVPacketHolder()
    private let frame = AVFrameHolder()
    private let converter = PictureConverter()
    private let resampler: AudioResampler
    private var waiting: [Item] = []
    private var isDraining = false
    /// In microseconds of the container's clock.
    private var origin: Int64 = 0
    private var nextAudio: Int64?
    private let interruption: Interruption

    /// Whether libav's calls that wait shall go on.
    private final class Interruption: Sendable {
        let isCancelled = Atomic(false)
    }

    /// The size of the pictures, as the file says at its beginning; nil without video.
    public private(set) var dimensions: Dimensions?
    /// Pictures a second on average; nil when unknown.
    public private(set) var frameRate: Double?
    /// Channels of the sound as it is read, 1 or 2; nil without sound.
    public private(set) var channels: Int?

    /// - Parameter uri: a path or an address, such as `film.mp4` or `rtsp://…`.
    /// - Throws: `CodecError.cannotOpen`, or `CodecError.noTrack` when there is neither picture nor sound.
    public init(uri: String) throws(CodecError) {
        AVLog.quiet()
        self.uri = uri
        interruption = Interruption()
        resampler = AudioResampler(channels: 2)
        try open()
        guard video != nil || audio != nil else {
            avformat_close_input(&format)
            throw .noTrack("“\(uri)” holds neither pictures nor sound that can be decoded")
        }
    }

    deinit { avformat_close_input(&format) }

    /// Makes a call that waits, now or later, fail at once. From any thread.
    public func cancel() { interruption.isCancelled.store(true, ordering: .relaxed) }

    private func open() throws(CodecError) {
        format = avformat_alloc_context()
        format?.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(interruption).toOpaque()
        format?.pointee.interrupt_callback.callback = { context in
            let interruption = Unmanaged<Interruption>.fromOpaque(context!).takeUnretainedValue()
            return interruption.isCancelled.load(ordering: .relaxed) ? 1 : 0
        }
        var options: OpaquePointer?
        // Ten seconds without an answer are enough for networks; files do not wait.
        av_dict_set(&options, "timeout", "10000000", 0)
        av_dict_set(&options, "rw_timeout", "10000000", 0)
        defer { av_dict_free(&options) }
        let opened = avformat_open_input(&format, uri, nil, &options)
        guard opened >= 0 else { throw .cannotOpen(uri, reason: CodecError.reason(opened)) }
        let found = avformat_find_stream_info(format, nil)
        guard found >= 0 else { throw .cannotOpen(uri, reason: CodecError.reason(found)) }
        video = try openTrack(AVMEDIA_TYPE_VIDEO)
        audio = try openTrack(AVMEDIA_TYPE_AUDIO)
        describe()
    }

    private func openTrack(_ type: AVMediaType) throws(CodecError) -> Track? {
        var codec: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(format, type, -1, -1, &codec, 0)
        guard index >= 0, let codec, let stream = format?.pointee.streams[Int(index)] else { return nil }
        let decoder = AVCodecContextHolder(codec)
        guard avcodec_parameters_to_context(decoder.pointer, stream.pointee.codecpar) >= 0 else { return nil }
        decoder.pointer.pointee.thread_count = 1
        decoder.pointer.pointee.pkt_timebase = stream.pointee.time_base
        try decoder.open(codec)
        return Track(index: index, decoder: decoder, timeBase: stream.pointee.time_base)
    }

    private func describe() {
        let start = format?.pointee.start_time ?? 0
        origin = start == cffmpeg_no_timestamp() ? 0 : start
        if let video, let stream = format?.pointee.streams[Int(video.index)] {
            dimensions = Dimensions(
                width: Int(video.decoder.pointer.pointee.width), height: Int(video.decoder.pointer.pointee.height))
            let rate = av_guess_frame_rate(format, stream, nil)
            frameRate = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
        }
        if audio != nil { channels = 2 }
        for index in 0..<Int(format?.pointee.nb_streams ?? 0) {
            let isWanted = Int32(index) == video?.index || Int32(index) == audio?.index
            format?.pointee.streams[index]?.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Begins again.
    ///
    /// - Throws: `CodecError.cannotOpen` when an address cannot be read again.
    public func rewind() throws(CodecError) {
        waiting.removeAll()
        isDraining = false
        nextAudio = nil
        let sought = av_seek_frame(format, -1, origin, AVSEEK_FLAG_BACKWARD)
        if sought >= 0 {
            if let video { avcodec_flush_buffers(video.decoder.pointer) }
            if let audio { avcodec_flush_buffers(audio.decoder.pointer) }
        } else {
            avformat_close_input(&format)
            try open()
        }
    }

    /// The next picture or sound; nil at the end.
    ///
    /// - Throws: `CodecError.damaged` when the source broke off.
    public func next() throws(CodecError) -> Item? {
        while true {
            if !waiting.isEmpty { return waiting.removeFirst() }
            if isDraining { return nil }
            try readPacket()
        }
    }

    private func readPacket() throws(CodecError) {
        let result = av_read_frame(format, packet.pointer)
        if result == cffmpeg_error_end_of_file() || result == cffmpeg_error_exit() {
            isDraining = true
            if let video { try decode(nil, video, isVideo: true) }
            if let audio { try decode(nil, audio, isVideo: false) }
            return
        }
        guard result >= 0 else { throw .damaged("“\(uri)” broke off: \(CodecError.reason(result))") }
        defer { av_packet_unref(packet.pointer) }
        if let video, packet.pointer.pointee.stream_index == video.index {
            try decode(packet.pointer, video, isVideo: true)
        } else if let audio, packet.pointer.pointee.stream_index == audio.index {
            try decode(packet.pointer, audio, isVideo: false)
        }
    }

    /// A damaged packet is passed over: files have them, and the next is often whole.
    private func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, _ track: Track, isVideo: Bool
    ) throws(CodecError) {
        guard avcodec_send_packet(track.decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(track.decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            if isVideo { try appendPicture(track) } else { try appendSound(track) }
        }
    }

    /// Microseconds since the beginning; nil when the frame does not say.
    private func moment(_ track: Track) -> Int64? {
        let timestamp = frame.pointer.pointee.best_effort_timestamp
        guard timestamp != cffmpeg_no_timestamp() else { return nil }
        return av_rescale_q(timestamp, track.timeBase, cffmpeg_time_base()) - origin
    }

    private func appendPicture(_ track: Track) throws(CodecError) {
        guard let moment = moment(track) else { return }
        let timestamp = MediaTime(
            ticks: ClockRate.video.ticks(in: .microseconds(moment)), rate: .video)
        waiting.append(
            .video(try converter.convert(frame.pointer, captureTime: nil, timestamp: timestamp)))
    }

    private func appendSound(_ track: Track) throws(CodecError) {
        let samples = try resampler.resample(frame.pointer)
        guard !samples.isEmpty else { return }
        let told = moment(track).map { ClockRate.opus.ticks(in: .microseconds($0)) }
        // Counted samples are truer than rounded timestamps, as long as the two agree.
        var start = told ?? nextAudio ?? 0
        if let nextAudio, let told, abs(told - nextAudio) < 2400 { start = nextAudio }
        nextAudio = start + Int64(samples.count / 2)
        waiting.append(
            .audio(
                AudioFrame(
                    samples: samples, channels: 2, captureTime: nil,
                    timestamp: MediaTime(ticks: start, rate: .opus))))
    }
}
