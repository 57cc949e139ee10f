import CFFmpeg
package import PCastCore

/// Writes encoded frames to a `.mp4`, `.mkv` or `.webm` file without re-encoding. The file extension selects the
/// format.
///
/// The file is complete after `finish`. Only one thread may use it at a time.
package final class MediaWriter: @unchecked Sendable {  // owned by one thread at a time
    private struct Track {
        let codec: Codec
        let index: Int32
        var lastTimestamp: Int64 = -1
    }

    private let path: String
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private var tracks: [Track] = []
    private let packet = AVPacketHolder()
    private var hasHeader = false
    private var isFinished = false

    /// The file extensions that can be written.
    package static let endings = [".mp4", ".mkv", ".webm"]

    private static let timeBase = AVRational(num: 1, den: 1_000_000)

    /// Creates the file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The file name whose extension selects the format; nil to use the path.
    ///   - codecs: The codecs of the tracks, at most one for each media type.
    /// - Throws: `CodecError.unsupported` for a format that cannot contain them, `CodecError.cannotWrite`.
    package init(path: String, named name: String? = nil, tracks codecs: [Codec]) throws(CodecError) {
        AVLog.quiet()
        let name = name ?? path
        self.path = name
        let isKnown = Self.endings.contains { name.lowercased().hasSuffix($0) }
        guard isKnown, avformat_alloc_output_context2(&format, nil, nil, name) >= 0, format != nil else {
            throw .unsupported("“\(name)” is not a supported recording: use a file that ends in .mp4, .mkv or .webm")
        }
        for codec in codecs { tracks.append(Track(codec: codec, index: try addStream(codec))) }
        // The prefix makes libavformat treat every text as a path.
        let opened = avio_open(&format!.pointee.pb, "file:" + path, AVIO_FLAG_WRITE)
        guard opened >= 0 else {
            close()
            throw .cannotWrite(name, reason: CodecError.reason(opened))
        }
    }

    deinit { close() }

    private func addStream(_ codec: Codec) throws(CodecError) -> Int32 {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw .failed("adding a track", reason: "out of memory")
        }
        stream.pointee.time_base = Self.timeBase
        switch codec {
        case .h264:
            parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            parameters.pointee.codec_id = AV_CODEC_ID_H264
        case .vp8:
            parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            parameters.pointee.codec_id = AV_CODEC_ID_VP8
        case .vp9, .av1, .h265:
            throw .unsupported(
                "streams of \(codec.rawValue) cannot be recorded: record a stream of H.264 or VP8")
        case .opus:
            parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            parameters.pointee.codec_id = AV_CODEC_ID_OPUS
            parameters.pointee.sample_rate = Int32(AudioFrame.sampleRate)
            parameters.pointee.frame_size = 960
            av_channel_layout_default(&parameters.pointee.ch_layout, 2)
            Self.setExtraData(parameters, Self.opusHead)
        }
        guard avformat_query_codec(format?.pointee.oformat, parameters.pointee.codec_id, FF_COMPLIANCE_NORMAL) == 1
        else {
            throw .unsupported("“\(path)” cannot contain \(codec.rawValue): record to a .mkv file")
        }
        return stream.pointee.index
    }

    /// The OpusHead (RFC 7845, section 5.1): two channels, 48 kHz, and no pre-skip, because a recording that starts
    /// within a stream has no encoder delay to remove.
    private static let opusHead: [UInt8] =
        Array("OpusHead".utf8) + [1, 2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0]

    private static func setExtraData(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ bytes: [UInt8]) {
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard let memory = av_mallocz(bytes.count + padding) else { fatalError("out of memory for a header") }
        memory.copyMemory(from: bytes, byteCount: bytes.count)
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(bytes.count)
    }

    /// Writes a frame. With a video track, frames before the first key frame are omitted.
    ///
    /// - Parameters:
    ///   - frame: The encoded frame. It is ignored if no track has its codec.
    ///   - moment: The presentation time since the start of the recording.
    /// - Throws: `CodecError.cannotWrite`, or `CodecError.unsupported` if the format cannot contain the tracks.
    package func write(_ frame: EncodedFrame, at moment: TimeSpan) throws(CodecError) {
        guard !isFinished, let index = tracks.firstIndex(where: { $0.codec == frame.codec }) else { return }
        if !hasHeader {
            let hasVideo = tracks.contains { $0.codec.mediaType == .video }
            guard !hasVideo || frame.codec.mediaType == .video && frame.isKeyFrame else { return }
            guard try describeVideo(by: frame) else { return }
            try writeHeader()
        }
        // Containers require strictly increasing timestamps in each track.
        let timestamp = max(moment.nanoseconds / 1000, tracks[index].lastTimestamp + 1)
        tracks[index].lastTimestamp = timestamp
        try write(frame, to: tracks[index].index, timestamp: timestamp)
    }

    /// Sets the header of the video track from a key frame. Returns false if the frame is invalid; the next key frame
    /// is used then.
    private func describeVideo(by frame: EncodedFrame) throws(CodecError) -> Bool {
        guard frame.codec.mediaType == .video, let track = tracks.first(where: { $0.codec == frame.codec }),
            let parameters = format?.pointee.streams[Int(track.index)]?.pointee.codecpar
        else { return true }
        let decoder: any VideoDecoder = frame.codec == .vp8 ? try VP8Decoder() : try H264Decoder()
        guard let videoFrame = try? decoder.decode(frame).first else { return false }
        parameters.describe(videoFrame, in: frame)
        if frame.codec == .h264 { Self.setExtraData(parameters, H264ParameterSetCache.annexB(in: frame.bytes)) }
        if let stream = format?.pointee.streams[Int(track.index)] {
            stream.pointee.sample_aspect_ratio = parameters.pointee.sample_aspect_ratio
        }
        return true
    }

    private func writeHeader() throws(CodecError) {
        let result = avformat_write_header(format, nil)
        guard result >= 0 else {
            throw .unsupported("“\(path)” cannot contain these tracks: \(CodecError.reason(result))")
        }
        hasHeader = true
    }

    private func write(_ frame: EncodedFrame, to index: Int32, timestamp: Int64) throws(CodecError) {
        guard let stream = format?.pointee.streams[Int(index)] else { return }
        let allocated = av_new_packet(packet.pointer, Int32(frame.bytes.count))
        guard allocated >= 0 else { throw .failed("writing", reason: CodecError.reason(allocated)) }
        frame.bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(
                from: bytes)
        }
        packet.pointer.pointee.stream_index = index
        packet.pointer.pointee.pts = timestamp
        packet.pointer.pointee.dts = timestamp
        if frame.codec == .opus { packet.pointer.pointee.duration = 20_000 }
        if frame.isKeyFrame { packet.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
        av_packet_rescale_ts(packet.pointer, Self.timeBase, stream.pointee.time_base)
        let result = av_interleaved_write_frame(format, packet.pointer)
        guard result >= 0 else { throw .cannotWrite(path, reason: CodecError.reason(result)) }
    }

    /// Completes the file. Nothing can be written afterwards. Throws `CodecError.noTrack` if nothing was written, or
    /// `CodecError.cannotWrite`.
    package func finish() throws(CodecError) {
        guard !isFinished else { return }
        isFinished = true
        defer { close() }
        guard hasHeader else { throw .noTrack("nothing was recorded, because no key frame arrived") }
        let result = av_write_trailer(format)
        guard result >= 0 else { throw .cannotWrite(path, reason: CodecError.reason(result)) }
    }

    private func close() {
        guard format != nil else { return }
        avio_closep(&format!.pointee.pb)
        avformat_free_context(format)
        format = nil
    }
}
