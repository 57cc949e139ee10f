import CFFmpeg
import PCastMedia

/// A file, an address or bytes that libavformat reads packets from; opened again, it begins again.
final class MediaInput {
    let name: String
    private let deadline: ReadingDeadline
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private let bytes: MediaBytesContext?
    private let isSRT: Bool
    private let isWeb: Bool
    /// A peer of SRT has closed the connection, and did not just vanish.
    private var hasSaidGoodbye = false
    let packet = AVPacketHolder()
    /// In microseconds of the container's clock.
    let origin: Int64

    /// nil when it has no end, or does not say.
    let duration: TimeSpan?

    /// - Parameters:
    ///   - name: for people; nil for the address without its secrets.
    ///   - deadline: when waiting ends, from any thread.
    ///   - formats: libavformat's names of those that it may be; any where there are none.
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
        deadline.begin(for: MediaAccess.current?.openingPatience)
        var options = MediaAccess.dictionary()
        if !formats.isEmpty {
            av_dict_set(&options, "format_whitelist", formats.joined(separator: ","), 0)
        }
        // Cameras behind routers, and those that have no other way, are heard at once.
        if MediaAccess.current == nil, uri.lowercased().hasPrefix("rtsp:") {
            av_dict_set(&options, "rtsp_flags", "prefer_tcp", 0)
        }
        self.format = try Self.open(format, MediaName.location(uri), nil, &options, deadline)
        // Who came has the usual time to send something.
        deadline.begin()
        let result = Self.told(avformat_find_stream_info(self.format, nil), self.format)
        guard result >= 0, let format = self.format else {
            let failure = MediaInputFailure(result, deadline)
            avformat_close_input(&self.format)
            throw failure
        }
        let start = format.pointee.start_time
        origin = start == cffmpeg_no_timestamp() ? 0 : start
        duration = format.pointee.duration > 0 ? .microseconds(format.pointee.duration) : nil
    }

    /// Bytes of a format that is known, of which nothing is looked at ahead: its tracks say only what its header does, and
    /// their times are as they stand there.
    ///
    /// - Parameter formatName: libavformat's, such as `mpegts`.
    init(bytes: any MediaBytes, format formatName: String, deadline: ReadingDeadline)
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
        // A table that is missing is not searched for in all that comes.
        format?.pointee.probesize = 256 << 10
        // Clocks that begin anew after a day are unwound by who knows what came before.
        format?.pointee.correct_ts_overflow = 0
        var options: OpaquePointer?
        // What bytes name is not opened: they came from anywhere.
        av_dict_set(&options, "protocol_whitelist", "", 0)
        deadline.begin()
        self.format = try Self.open(format, nil, av_find_input_format(formatName), &options, deadline)
        (origin, duration) = (0, nil)
    }

    private static func context(_ deadline: ReadingDeadline) -> UnsafeMutablePointer<AVFormatContext>? {
        let format = avformat_alloc_context()
        // Not by the protocols' own "timeout" options, which of some (RTMP) make a server.
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

    /// The best track of a medium that can be decoded; nil without one. The cover of a song is no video.
    ///
    /// - Parameter other: a track that is read too: of a transport stream with several programs, only its program is looked
    ///   at.
    func bestTrack(_ type: AVMediaType, beside other: MediaTrack? = nil) -> MediaTrack? {
        var codec: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(format, type, -1, other?.index ?? -1, &codec, 0)
        guard index >= 0, let codec, let stream = format?.pointee.streams[Int(index)],
            stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0,
            other.map({ isSameProgram($0.index, index) }) ?? true
        else { return nil }
        return MediaTrack(index: index, stream: stream, codec: codec)
    }

    /// The streams of each program that there is, in their order; empty for containers without programs.
    var programs: [Set<Int32>] {
        guard let format else { return [] }
        return (0..<Int(format.pointee.nb_programs)).compactMap { index in
            format.pointee.programs[index].map { program in
                Set((0..<Int(program.pointee.nb_stream_indexes)).map { Int32(program.pointee.stream_index[$0]) })
            }
        }
    }

    /// Whether two streams are shown together: a program holds both, or one is of none.
    func isSameProgram(_ first: Int32, _ second: Int32) -> Bool {
        let programs = programs
        let own = programs.filter { $0.contains(first) }
        return own.isEmpty || !programs.contains { $0.contains(second) } || own.contains { $0.contains(second) }
    }

    /// Its streams, by their indices; more may come while it is read.
    var streams: [UnsafeMutablePointer<AVStream>] {
        guard let format else { return [] }
        return (0..<Int(format.pointee.nb_streams)).compactMap { format.pointee.streams[$0] }
    }

    /// When the media were made, as they say; nil when they do not.
    var creationTime: WallTime? {
        guard let entry = av_dict_get(format?.pointee.metadata, "creation_time", nil, 0) else {
            return nil
        }
        var microseconds: Int64 = 0
        // Beyond two centuries of today it is no time that anyone set.
        guard av_parse_time(&microseconds, entry.pointee.value, 0) >= 0, microseconds > 0,
            microseconds < 8_000_000_000_000_000
        else { return nil }
        return WallTime(nanosecondsSinceEpoch: microseconds * 1_000)
    }

    /// Whether the duration follows from the size and the rate.
    var isDurationEstimated: Bool {
        format?.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE
    }

    /// On average; nil when unknown.
    func frameRate(_ track: MediaTrack) -> Double? {
        let rate = av_guess_frame_rate(format, track.stream, nil)
        return rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    }

    /// The tracks that are read; the others are passed over.
    func select(_ tracks: [MediaTrack]) { select { index in tracks.contains { $0.index == index } } }

    func select(_ isWanted: (Int32) -> Bool) {
        for stream in streams {
            stream.pointee.discard = isWanted(stream.pointee.index) ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Whether what is read can be gone about in.
    var isSeekable: Bool {
        guard let context = format?.pointee.pb else { return false }
        return context.pointee.seekable & AVIO_SEEKABLE_NORMAL != 0
    }

    /// Why nothing comes of what was opened: an MP4 file whose index stands behind its media can only be read where one can go
    /// about in it (ISO/IEC 14496-12, section 6.2.3). nil where that is not so.
    var indexObstacle: String? {
        guard let format, !isSeekable, let name = format.pointee.iformat.pointee.name,
            String(cString: name).hasPrefix("mov")
        else { return nil }
        return
            "its index (moov) stands behind its media, and the server answers no ranges: have it answer them, or write "
            + "the file with the index first"
    }

    /// Goes to a key frame at or before a moment, as far as the container knows where one is.
    ///
    /// - Parameters:
    ///   - moment: microseconds of the container's clock.
    ///   - stream: by whose key frames; nil for the container's choice.
    func seek(to moment: Int64, by stream: UnsafeMutablePointer<AVStream>?) throws(MediaInputFailure) {
        deadline.begin()
        var result: Int32
        if let stream {
            let timestamp = av_rescale_q(moment, cffmpeg_time_base(), stream.pointee.time_base)
            result = av_seek_frame(format, stream.pointee.index, timestamp, AVSEEK_FLAG_BACKWARD)
        } else {
            result = av_seek_frame(format, -1, moment, AVSEEK_FLAG_BACKWARD)
        }
        // Before the first one there is.
        if result < 0, !deadline.isOver {
            result = av_seek_frame(format, -1, origin, AVSEEK_FLAG_BACKWARD)
        }
        if result < 0, !deadline.isOver {
            result = avformat_seek_file(format, -1, .min, 0, .max, AVSEEK_FLAG_BYTE)
        }
        result = Self.told(result, format)
        guard result >= 0 else { throw MediaInputFailure(result, deadline) }
    }

    /// Goes to the first byte, where the container can be read from there; else stays.
    func rewind() { avformat_seek_file(format, -1, 0, 0, 0, AVSEEK_FLAG_BYTE) }

    /// What a call came to: where a wait was ended, that, whatever the demuxer says.
    ///
    /// The one of transport streams gives out what it has of a picture as if that were all of it, others take it for the end,
    /// and what looks for streams or positions makes do with what it found. The error sticks to what they read from.
    private static func told(_ result: Int32, _ format: UnsafeMutablePointer<AVFormatContext>?) -> Int32 {
        format?.pointee.pb?.pointee.error == cffmpeg_error_exit() ? cffmpeg_error_exit() : result
    }

    /// Reads on after a wait that was ended.
    func forgetError() {
        guard let context = format?.pointee.pb else { return }
        (context.pointee.error, context.pointee.eof_reached) = (0, 0)
    }

    /// Reads the next packet into `packet`, to be given back by the caller; false at the end, which is also when a peer
    /// of SRT says goodbye.
    ///
    /// - Throws: when the source broke off.
    func read() throws(MediaInputFailure) -> Bool {
        deadline.begin()
        let result = Self.told(readFrame(), format)
        if result < 0 || deadline.isCancelled { av_packet_unref(packet.pointer) }
        if deadline.isCancelled { return false }
        if result == cffmpeg_error_end_of_file() { return false }
        if hasSaidGoodbye, result == cffmpeg_error_input_output() { return false }
        if result == cffmpeg_error_input_output(), endsWithConnection { return false }
        guard result >= 0 else { throw MediaInputFailure(result, deadline) }
        return true
    }

    /// Of an answer without a length the end is that of the connection (RFC 9112, section 6.3), which libavformat takes for a
    /// failure.
    private var endsWithConnection: Bool {
        guard isWeb, let context = format?.pointee.pb else { return false }
        return avio_size(context) < 0
    }

    /// Who closes is heard at once. Of who is gone nothing is: libsrt gives it up after five seconds without a word.
    private static let goodbyePatience = Duration.seconds(1)

    /// Reads the next packet, and notes why SRT ended if it did meanwhile.
    ///
    /// libavformat has one error for every end of such a connection, EIO, so that the wait for it has to tell: a source
    /// that falls silent first has failed. The error is looked for at what is read from, for the demuxer gives out what
    /// it has of a picture before it tells, in calls that do not wait.
    private func readFrame() -> Int32 {
        guard isSRT, format?.pointee.pb?.pointee.error == 0 else { return av_read_frame(format, packet.pointer) }
        let beginning = ContinuousClock.now
        let result = av_read_frame(format, packet.pointer)
        let hasBroken = format?.pointee.pb?.pointee.error == cffmpeg_error_input_output()
        hasSaidGoodbye = hasBroken && ContinuousClock.now - beginning < Self.goodbyePatience
        return result
    }
}
