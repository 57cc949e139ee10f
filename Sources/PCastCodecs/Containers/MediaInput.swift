import CFFmpeg
import PCastMedia

/// A file or an address that libavformat reads packets from; opened again, it begins again.
final class MediaInput {
    let name: String
    private let deadline: ReadingDeadline
    private var format: UnsafeMutablePointer<AVFormatContext>?
    let packet = AVPacketHolder()
    /// In microseconds of the container's clock.
    let origin: Int64

    /// nil when it has no end, or does not say.
    let duration: TimeSpan?

    /// - Parameter deadline: when waiting ends, from any thread.
    /// - Throws: `CodecError.cannotOpen`.
    init(uri: String, deadline: ReadingDeadline) throws(CodecError) {
        let name = MediaName.withoutSecrets(uri)
        var format = avformat_alloc_context()
        // Not by the protocols' own "timeout" options, which of some (RTMP) make a server.
        format?.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(deadline).toOpaque()
        format?.pointee.interrupt_callback.callback = { context in
            Unmanaged<ReadingDeadline>.fromOpaque(context!).takeUnretainedValue().isOver ? 1 : 0
        }
        MediaAccess.hold(format)
        deadline.begin(for: MediaAccess.current?.openingPatience)
        var options = MediaAccess.dictionary()
        var result = avformat_open_input(&format, uri, nil, &options)
        av_dict_free(&options)
        // Who came has the usual time to send something.
        deadline.begin()
        if result >= 0 { result = avformat_find_stream_info(format, nil) }
        guard result >= 0, let format else {
            avformat_close_input(&format)
            throw .cannotOpen(name, reason: deadline.reason ?? CodecError.reason(result))
        }
        self.name = name
        self.deadline = deadline
        self.format = format
        let start = format.pointee.start_time
        origin = start == cffmpeg_no_timestamp() ? 0 : start
        duration = format.pointee.duration > 0 ? .microseconds(format.pointee.duration) : nil
    }

    deinit { avformat_close_input(&format) }

    /// The best track of a medium that can be decoded; nil without one. The cover of a song is no video.
    func bestTrack(_ type: AVMediaType) -> MediaTrack? {
        var codec: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(format, type, -1, -1, &codec, 0)
        guard index >= 0, let codec, let stream = format?.pointee.streams[Int(index)],
            stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
        else { return nil }
        return MediaTrack(index: index, stream: stream, codec: codec)
    }

    /// On average; nil when unknown.
    func frameRate(_ track: MediaTrack) -> Double? {
        let rate = av_guess_frame_rate(format, track.stream, nil)
        return rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    }

    /// The tracks that are read; the others are passed over.
    func select(_ tracks: [MediaTrack]) {
        for index in 0..<Int(format?.pointee.nb_streams ?? 0) {
            let isWanted = tracks.contains { $0.index == Int32(index) }
            format?.pointee.streams[index]?.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Reads the next packet into `packet`, to be given back by the caller; false at the end.
    ///
    /// - Throws: `CodecError.damaged` when the source broke off.
    func read() throws(CodecError) -> Bool {
        deadline.begin()
        let result = av_read_frame(format, packet.pointer)
        if deadline.isCancelled {
            if result >= 0 { av_packet_unref(packet.pointer) }
            return false
        }
        if result == cffmpeg_error_end_of_file() { return false }
        guard result >= 0 else {
            throw .damaged("“\(name)” broke off: \(deadline.reason ?? CodecError.reason(result))")
        }
        return true
    }
}
