import CFFmpeg
import PCastCore

/// A file, an address or a byte source from which libavformat reads packets.
final class MediaInput {
    let name: String
    private let deadline: ReadingDeadline
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private let bytes: MediaBytesContext?
    private let isSRT: Bool
    private let isWeb: Bool
    /// Whether an SRT peer closed the connection explicitly, as opposed to a lost connection.
    private var wasClosedByPeer = false
    let packet = AVPacketHolder()
    /// The start time, in microseconds on the container's clock.
    let origin: Int64

    /// The duration; nil if it is infinite or unknown.
    let duration: TimeSpan?

    /// Opens a path or an address and reads enough to find the tracks.
    ///
    /// - Parameters:
    ///   - uri: The path or the address.
    ///   - name: The name in messages; nil for the address without its secrets.
    ///   - deadline: The timeout of each blocking call. It can be ended from any thread.
    ///   - formats: libavformat's names of the allowed formats; empty for any.
    /// - Throws: `MediaInputFailure` if it cannot be opened or has no recognizable content.
    init(
        uri: String, name: String? = nil, deadline: ReadingDeadline, formats: [String] = []
    ) throws(MediaInputFailure) {
        self.name = name ?? MediaName.withoutSecrets(uri)
        self.deadline = deadline
        bytes = nil
        isSRT = uri.lowercased().hasPrefix("srt:")
        isWeb = ["http:", "https:"].contains { uri.lowercased().hasPrefix($0) }
        let format = Self.context(deadline)
        MediaAccess.hold(format)
        deadline.begin(for: MediaAccess.current?.openTimeout)
        var options = MediaAccess.dictionary()
        if !formats.isEmpty {
            av_dict_set(&options, "format_whitelist", formats.joined(separator: ","), 0)
        }
        // TCP reaches cameras behind NAT and cameras without UDP without a timeout first.
        if MediaAccess.current == nil, uri.lowercased().hasPrefix("rtsp:") {
            av_dict_set(&options, "rtsp_flags", "prefer_tcp", 0)
        }
        self.format = try Self.open(format, MediaName.location(uri), nil, &options, deadline)
        // After the peer has connected, it has the usual time to send media.
        deadline.begin()
        let result = Self.checked(avformat_find_stream_info(self.format, nil), self.format)
        guard result >= 0, let format = self.format else {
            let failure = MediaInputFailure(result, deadline)
            avformat_close_input(&self.format)
            throw failure
        }
        let start = format.pointee.start_time
        origin = start == cffmpeg_no_timestamp() ? 0 : start
        duration = format.pointee.duration > 0 ? .microseconds(format.pointee.duration) : nil
    }

    /// Opens a source of a known format without probing. The tracks contain only what the header says, and timestamps
    /// are not adjusted.
    ///
    /// - Parameters:
    ///   - bytes: The source of the bytes.
    ///   - formatName: libavformat's name of the format, such as `mpegts`.
    ///   - key: The key of the samples in MP4; nil if they are not encrypted.
    ///   - deadline: The timeout of each blocking call.
    /// - Throws: `MediaInputFailure` if the header cannot be read.
    init(bytes: any MediaBytes, format formatName: String, key: [UInt8]? = nil, deadline: ReadingDeadline)
        throws(MediaInputFailure)
    {
        name = formatName
        self.deadline = deadline
        let bytes = MediaBytesContext(bytes)
        self.bytes = bytes
        (isSRT, isWeb) = (false, false)
        let format = Self.context(deadline)
        format?.pointee.pb = bytes.pointer
        format?.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        // Limits the search for a missing program table to 256 KiB.
        format?.pointee.probesize = 256 << 10
        // The caller unwraps timestamps, because it knows the segments before this one.
        format?.pointee.correct_ts_overflow = 0
        var options: OpaquePointer?
        // The bytes are untrusted, so they may not refer to other files or addresses.
        av_dict_set(&options, "protocol_whitelist", "", 0)
        if let key {
            let digits = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            av_dict_set(&options, "decryption_key", digits, 0)
        }
        deadline.begin()
        self.format = try Self.open(format, nil, av_find_input_format(formatName), &options, deadline)
        (origin, duration) = (0, nil)
    }

    private static func context(_ deadline: ReadingDeadline) -> UnsafeMutablePointer<AVFormatContext>? {
        let format = avformat_alloc_context()
        // The protocols' own `timeout` options are not used, because for RTMP that option starts a server.
        format?.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(deadline).toOpaque()
        format?.pointee.interrupt_callback.callback = { context in
            Unmanaged<ReadingDeadline>.fromOpaque(context!).takeUnretainedValue().isOver ? 1 : 0
        }
        return format
    }

    private static func open(
        _ context: UnsafeMutablePointer<AVFormatContext>?, _ uri: String?,
        _ kind: UnsafePointer<AVInputFormat>?,
        _ options: inout OpaquePointer?, _ deadline: ReadingDeadline
    ) throws(MediaInputFailure) -> UnsafeMutablePointer<AVFormatContext> {
        var format = context
        let result = avformat_open_input(&format, uri, kind, &options)
        av_dict_free(&options)
        guard result >= 0, let format else { throw MediaInputFailure(result, deadline) }
        return format
    }

    deinit { avformat_close_input(&format) }

    /// Returns the best decodable track of a media type; nil if there is none. Cover images are not video. In a
    /// transport stream with several programs, only the program of `other` is searched. Without `other`, video of a
    /// program that has audio too is preferred to video of a program without audio.
    func bestTrack(_ type: AVMediaType, beside other: MediaTrack? = nil) -> MediaTrack? {
        let best = track(type, beside: other)
        guard other == nil, type == AVMEDIA_TYPE_VIDEO, let best else { return best }
        let audio = Set(
            streams.filter { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }.map(\.pointee.index))
        let programs = programs
        let own = programs.filter { $0.contains(best.index) }
        guard !own.isEmpty, own.allSatisfy({ $0.isDisjoint(with: audio) }) else { return best }
        for program in programs {
            guard let index = program.first(where: { audio.contains($0) }),
                let audioFrame = track(AVMEDIA_TYPE_AUDIO, at: index), let better = track(type, beside: audioFrame)
            else { continue }
            return better
        }
        return best
    }

    /// Returns the best decodable track of a media type, or the one with an index, in the program of `other`.
    private func track(_ type: AVMediaType, at wanted: Int32 = -1, beside other: MediaTrack? = nil) -> MediaTrack? {
        var codec: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(format, type, wanted, other?.index ?? -1, &codec, 0)
        guard index >= 0, let codec, let stream = format?.pointee.streams[Int(index)],
            stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0,
            other.map({ isSameProgram($0.index, index) }) ?? true
        else { return nil }
        return MediaTrack(index: index, stream: stream, codec: codec)
    }

    /// The stream indices of each program, in the order of the programs; empty for containers without programs.
    var programs: [Set<Int32>] {
        guard let format else { return [] }
        return (0..<Int(format.pointee.nb_programs)).compactMap { index in
            format.pointee.programs[index].map { program in
                Set((0..<Int(program.pointee.nb_stream_indexes)).map { Int32(program.pointee.stream_index[$0]) })
            }
        }
    }

    /// Returns whether two streams may be presented together: one program contains both, or one stream belongs to no
    /// program.
    func isSameProgram(_ first: Int32, _ second: Int32) -> Bool {
        let programs = programs
        let own = programs.filter { $0.contains(first) }
        return own.isEmpty || !programs.contains { $0.contains(second) } || own.contains { $0.contains(second) }
    }

    /// The streams, in the order of their indices. More may appear while the input is read.
    var streams: [UnsafeMutablePointer<AVStream>] {
        guard let format else { return [] }
        return (0..<Int(format.pointee.nb_streams)).compactMap { format.pointee.streams[$0] }
    }

    /// The creation time from the metadata; nil if it is missing or invalid.
    var creationTime: WallTime? {
        guard let entry = av_dict_get(format?.pointee.metadata, "creation_time", nil, 0) else {
            return nil
        }
        var microseconds: Int64 = 0
        // Ignores times after the year 2223, which are not real.
        guard av_parse_time(&microseconds, entry.pointee.value, 0) >= 0, microseconds > 0,
            microseconds < 8_000_000_000_000_000
        else { return nil }
        return WallTime(nanosecondsSinceEpoch: microseconds * 1_000)
    }

    /// Whether libavformat estimated the duration from the size and the bitrate.
    var isDurationEstimated: Bool {
        format?.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE
    }

    /// Returns the average frame rate; nil if it is unknown.
    func frameRate(_ track: MediaTrack) -> Double? {
        let rate = av_guess_frame_rate(format, track.stream, nil)
        return rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    }

    /// Selects the tracks that are read. Packets of the others are discarded.
    func select(_ tracks: [MediaTrack]) { select { index in tracks.contains { $0.index == index } } }

    func select(_ isWanted: (Int32) -> Bool) {
        for stream in streams {
            stream.pointee.discard = isWanted(stream.pointee.index) ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Whether the source supports seeking by byte position.
    var isSeekable: Bool {
        guard let context = format?.pointee.pb else { return false }
        return context.pointee.seekable & AVIO_SEEKABLE_NORMAL != 0
    }

    /// The reason why an MP4 file yields no packets: its index follows its media, which requires seeking (ISO/IEC
    /// 14496-12, section 6.2.3). nil if that is not the case.
    var indexProblem: String? {
        guard let format, !isSeekable, let name = format.pointee.iformat.pointee.name,
            String(cString: name).hasPrefix("mov")
        else { return nil }
        return
            "its index (moov) follows its media, and the server does not support ranges: enable ranges, or write "
            + "the file with the index first"
    }

    /// Seeks to a key frame at or before a time, as far as the container knows its key frames.
    ///
    /// - Parameters:
    ///   - moment: The time in microseconds on the container's clock.
    ///   - stream: The stream whose key frames count; nil for the container's choice.
    /// - Throws: `MediaInputFailure` if the container cannot seek.
    func seek(to moment: Int64, by stream: UnsafeMutablePointer<AVStream>?) throws(MediaInputFailure) {
        deadline.begin()
        var result: Int32
        if let stream {
            let timestamp = av_rescale_q(moment, cffmpeg_time_base(), stream.pointee.time_base)
            result = av_seek_frame(format, stream.pointee.index, timestamp, AVSEEK_FLAG_BACKWARD)
        } else {
            result = av_seek_frame(format, -1, moment, AVSEEK_FLAG_BACKWARD)
        }
        // The time is before the first key frame.
        if result < 0, !deadline.isOver {
            result = av_seek_frame(format, -1, origin, AVSEEK_FLAG_BACKWARD)
        }
        if result < 0, !deadline.isOver {
            result = avformat_seek_file(format, -1, .min, 0, .max, AVSEEK_FLAG_BYTE)
        }
        result = Self.checked(result, format)
        guard result >= 0 else { throw MediaInputFailure(result, deadline) }
    }

    /// Seeks to the first byte if the container can be read from there; otherwise does nothing.
    func rewind() { avformat_seek_file(format, -1, 0, 0, 0, AVSEEK_FLAG_BYTE) }

    /// Returns the result of a call, or the interruption error if a wait was interrupted.
    ///
    /// Demuxers hide an interruption. The one of MPEG-TS returns a partial frame as if it were complete, and others
    /// report the end. Probing and seeking continue with the received bytes. The I/O context keeps the error.
    private static func checked(_ result: Int32, _ format: UnsafeMutablePointer<AVFormatContext>?) -> Int32 {
        format?.pointee.pb?.pointee.error == cffmpeg_error_exit() ? cffmpeg_error_exit() : result
    }

    /// Clears the error of an interrupted wait, so that reading can continue.
    func clearError() {
        guard let context = format?.pointee.pb else { return }
        (context.pointee.error, context.pointee.eof_reached) = (0, 0)
    }

    /// Reads the next packet into `packet`, which the caller must unreference. Returns false at the end, and when an
    /// SRT peer closed the connection. Throws `MediaInputFailure` if the source broke off.
    func read() throws(MediaInputFailure) -> Bool {
        deadline.begin()
        let result = Self.checked(readFrame(), format)
        if result < 0 || deadline.isCancelled { av_packet_unref(packet.pointer) }
        if deadline.isCancelled { return false }
        if result == cffmpeg_error_end_of_file() { return false }
        if wasClosedByPeer, result == cffmpeg_error_input_output() { return false }
        if result == cffmpeg_error_input_output(), endsWithConnection { return false }
        guard result >= 0 else { throw MediaInputFailure(result, deadline) }
        return true
    }

    /// Whether the end of the connection is the end of the media. An HTTP response without a length ends with its
    /// connection (RFC 9112, section 6.3). libavformat reports this as an error.
    private var endsWithConnection: Bool {
        guard isWeb, let context = format?.pointee.pb else { return false }
        return avio_size(context) < 0
    }

    /// The longest wait before an error that counts as an explicit close. libsrt reports a close at once, but a lost
    /// peer only after five seconds.
    private static let closeErrorTimeout = Duration.seconds(1)

    /// Reads the next packet and records how an SRT connection ended.
    ///
    /// libavformat reports EIO for every end of an SRT connection, so the duration of the wait distinguishes them: a
    /// source that falls silent first has failed. The error is read from the I/O context, because the demuxer first
    /// returns a partial frame in calls that do not wait.
    private func readFrame() -> Int32 {
        guard isSRT, format?.pointee.pb?.pointee.error == 0 else { return av_read_frame(format, packet.pointer) }
        let beginning = ContinuousClock.now
        let result = av_read_frame(format, packet.pointer)
        let hasBroken = format?.pointee.pb?.pointee.error == cffmpeg_error_input_output()
        wasClosedByPeer = hasBroken && ContinuousClock.now - beginning < Self.closeErrorTimeout
        return result
    }
}

/// The reason why libavformat could not open or read a file or an address.
struct MediaInputFailure: Error {
    /// FFmpeg's error number, such as `AVERROR_INVALIDDATA`.
    var number: Int32
    /// The description of the error, or why the wait ended.
    var reason: String

    init(_ number: Int32, _ deadline: ReadingDeadline) {
        self.number = number
        reason = deadline.reason ?? CodecError.reason(number)
    }
}
