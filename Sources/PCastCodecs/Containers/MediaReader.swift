import CFFmpeg
public import PCastMedia

/// Reads and decodes a file, or any address that libavformat opens.
///
/// Pictures and sounds come as the file has them mixed, each medium in the order of presentation, with its moment since
/// the media's beginning; a picture's always grows. Used by one thread at a time, but for `cancel`.
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
    private var resampler = AudioResampler(channels: 2)
    private var waiting: [Item] = []
    private var isDraining = false
    /// In microseconds of the container's clock.
    private var origin: Int64 = 0
    /// Ticks at which the last picture stands.
    private var lastPicture: Int64?
    private var nextAudio: Int64?
    private let deadline = ReadingDeadline(patience: .seconds(10))
    private let selection: Set<MediaType>

    /// The size of the pictures, even numbers, as the file says at its beginning; nil without video.
    public private(set) var dimensions: Dimensions?
    /// Pictures a second on average; nil when unknown.
    public private(set) var frameRate: Double?
    /// Channels of the sound as it is read, 1 or 2; nil without sound.
    public private(set) var channels: Int?
    /// nil when it has no end, or does not say.
    public private(set) var duration: TimeSpan?

    /// - Parameters:
    ///   - uri: a path or an address, such as `film.mp4` or `rtsp://…`.
    ///   - selection: what is decoded; the rest is passed over.
    /// - Throws: `CodecError.cannotOpen`, or `CodecError.noTrack` when there is neither picture nor sound.
    public init(uri: String, select selection: Set<MediaType> = [.video, .audio]) throws(CodecError) {
        AVLog.quiet()
        self.uri = uri
        self.selection = selection
        try open()
        guard video != nil || audio != nil else {
            avformat_close_input(&format)
            throw .noTrack("“\(name)” holds neither pictures nor sound that can be decoded")
        }
    }

    deinit { avformat_close_input(&format) }

    private var name: String { MediaName.withoutSecrets(uri) }

    /// Makes a call that waits, now or later, end at once. From any thread.
    public func cancel() { deadline.cancel() }

    private func open() throws(CodecError) {
        format = avformat_alloc_context()
        // Not by the protocols' own "timeout" options, which of some (RTMP) make a server.
        format?.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(deadline).toOpaque()
        format?.pointee.interrupt_callback.callback = { context in
            Unmanaged<ReadingDeadline>.fromOpaque(context!).takeUnretainedValue().isOver ? 1 : 0
        }
        deadline.begin()
        var result = avformat_open_input(&format, uri, nil, nil)
        if result >= 0 { result = avformat_find_stream_info(format, nil) }
        guard result >= 0 else {
            avformat_close_input(&format)
            throw .cannotOpen(name, reason: deadline.reason ?? CodecError.reason(result))
        }
        video = selection.contains(.video) ? try openTrack(AVMEDIA_TYPE_VIDEO) : nil
        audio = selection.contains(.audio) ? try openTrack(AVMEDIA_TYPE_AUDIO) : nil
        describe()
    }

    private func openTrack(_ type: AVMediaType) throws(CodecError) -> Track? {
        var codec: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(format, type, -1, -1, &codec, 0)
        guard index >= 0, let codec, let stream = format?.pointee.streams[Int(index)] else { return nil }
        // The cover of a song is no video.
        guard stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 else { return nil }
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
                width: Int(video.decoder.pointer.pointee.width) & ~1,
                height: Int(video.decoder.pointer.pointee.height) & ~1)
            let rate = av_guess_frame_rate(format, stream, nil)
            frameRate = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
        }
        if audio != nil { channels = 2 }
        let length = format?.pointee.duration ?? 0
        duration = length > 0 ? .microseconds(length) : nil
        for index in 0..<Int(format?.pointee.nb_streams ?? 0) {
            let isWanted = Int32(index) == video?.index || Int32(index) == audio?.index
            format?.pointee.streams[index]?.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Begins again, by opening it again: seeking lands beside the beginning in some formats, MPEG-TS among them.
    ///
    /// - Throws: `CodecError.cannotOpen` when an address cannot be read again.
    public func rewind() throws(CodecError) {
        waiting.removeAll()
        isDraining = false
        nextAudio = nil
        lastPicture = nil
        avformat_close_input(&format)
        // Not what is left in it of the end.
        resampler = AudioResampler(channels: 2)
        try open()
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
        guard format != nil else { throw .cannotOpen(name, reason: "it could not be opened again") }
        deadline.begin()
        let result = av_read_frame(format, packet.pointer)
        if result == cffmpeg_error_end_of_file() || deadline.isCancelled {
            isDraining = true
            if let video { try decode(nil, video, isVideo: true) }
            if let audio { try decode(nil, audio, isVideo: false) }
            return
        }
        guard result >= 0 else { throw brokenOff(result) }
        defer { av_packet_unref(packet.pointer) }
        if let video, packet.pointer.pointee.stream_index == video.index {
            try decode(packet.pointer, video, isVideo: true)
        } else if let audio, packet.pointer.pointee.stream_index == audio.index {
            try decode(packet.pointer, audio, isVideo: false)
        }
    }

    private func brokenOff(_ result: Int32) -> CodecError {
        .damaged("“\(name)” broke off: \(deadline.reason ?? CodecError.reason(result))")
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
        let following = lastPicture.map { $0 + Int64(90_000 / max(1, frameRate ?? 25)) } ?? 0
        var ticks = moment(track).map { ClockRate.video.ticks(in: .microseconds($0)) } ?? following
        if let lastPicture { ticks = max(ticks, lastPicture + 1) }
        lastPicture = ticks
        let timestamp = MediaTime(ticks: ticks, rate: .video)
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
