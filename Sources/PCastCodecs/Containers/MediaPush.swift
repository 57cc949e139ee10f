import CFFmpeg
package import PCastCore

/// Sends H.264 and AAC to an address in real time: FLV over RTMP, MPEG-TS over SRT, or RTP over RTSP.
///
/// It connects with the first key frame. Only one thread may use it at a time, except for `cancel`.
package final class MediaPush: @unchecked Sendable {  // owned by one thread at a time; `cancel` sets an atomic
    /// A unit of a track.
    package enum MediaUnit: Sendable {
        /// H.264 in Annex B.
        case frame(EncodedFrame)
        case audio([UInt8])
    }

    private let uri: String
    private let name: String
    private let formatName: String
    private let deadline = ReadingDeadline(timeout: .seconds(10))
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private var frames: Int32?
    private var audioFrames: Int32?
    private var lastTimes: [Int32: Int64] = [:]
    private let packet = AVPacketHolder()
    private var hasHeader = false

    private static let timeBase = AVRational(num: 1, den: 1_000_000)
    /// The maximum duration of the media that libavformat buffers for interleaving while one track delivers no packets,
    /// in microseconds.
    private static let interleaving: Int64 = 500_000

    /// Prepares an output. It connects with the first piece that is sent.
    ///
    /// - Parameters:
    ///   - uri: The address, including credentials.
    ///   - name: The address as it appears in errors.
    ///   - format: libavformat's name of the format: `flv`, `mpegts` or `rtsp`.
    ///   - hasVideo: Whether there is a video track.
    ///   - audio: The AudioSpecificConfig of the AAC; nil without audio.
    /// - Throws: `CodecError.missing` if FFmpeg lacks the format.
    package init(uri: String, name: String, format: String, hasVideo: Bool, audio: [UInt8]?) throws(CodecError) {
        AVLog.quiet()
        (self.uri, self.name, formatName) = (uri, name, format)
        guard avformat_alloc_output_context2(&self.format, nil, format, uri) >= 0, let context = self.format else {
            throw .missing("libavformat's format \(format)")
        }
        context.pointee.max_interleave_delta = Self.interleaving
        context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
        context.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(deadline).toOpaque()
        context.pointee.interrupt_callback.callback = { context in
            Unmanaged<ReadingDeadline>.fromOpaque(context!).takeUnretainedValue().isOver ? 1 : 0
        }
        if hasVideo { frames = try addStream(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, []) }
        if let audio { audioFrames = try addStream(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, audio) }
    }

    deinit { close() }

    /// Ends blocking calls, now and later. It can be called from any thread.
    package func cancel() { deadline.cancel() }

    /// Whether the connection is open and the header was sent.
    package var isOpen: Bool { hasHeader }

    private func addStream(
        _ type: AVMediaType, _ codec: AVCodecID, _ header: [UInt8]
    ) throws(CodecError) -> Int32 {
        guard let stream = avformat_new_stream(format, nil), let parameters = stream.pointee.codecpar else {
            throw .failed("adding a track", reason: "out of memory")
        }
        stream.pointee.time_base = Self.timeBase
        parameters.pointee.codec_type = type
        parameters.pointee.codec_id = codec
        if type == AVMEDIA_TYPE_AUDIO {
            parameters.pointee.sample_rate = Int32(AudioFrame.sampleRate)
            parameters.pointee.frame_size = 1_024
            av_channel_layout_default(&parameters.pointee.ch_layout, 2)
        }
        if !header.isEmpty { parameters.setExtraData(header) }
        return stream.pointee.index
    }

    /// Sends a piece, and connects before the first one. With a video track, nothing is sent before a key frame.
    ///
    /// - Parameters:
    ///   - piece: The encoded frame or audio.
    ///   - moment: The presentation time since the start.
    /// - Throws: `CodecError.cannotOpen` if the address cannot be reached, `CodecError.damaged` if the connection
    ///   broke.
    package func push(_ piece: MediaUnit, at moment: TimeSpan) throws(CodecError) {
        if !hasHeader {
            if frames != nil {
                guard case .frame(let frame) = piece, frame.isKeyFrame, try describe(frame) else { return }
            }
            try connect()
        }
        let (index, bytes, isKey): (Int32?, [UInt8], Bool) =
            switch piece {
            case .frame(let frame): (frames, frame.bytes, frame.isKeyFrame)
            case .audio(let bytes): (audioFrames, bytes, true)
            }
        guard let index else { return }
        let time = max(moment.nanoseconds / 1_000, (lastTimes[index] ?? -1) + 1)
        lastTimes[index] = time
        try write(bytes, to: index, time: time, isKey: isKey)
    }

    /// Sets the size and the parameter sets of the video track from a key frame. Returns false if the frame is invalid.
    private func describe(_ frame: EncodedFrame) throws(CodecError) -> Bool {
        guard let frames, let parameters = format?.pointee.streams[Int(frames)]?.pointee.codecpar else {
            return false
        }
        guard let videoFrame = try? H264Decoder().decode(frame).first else { return false }
        parameters.describe(videoFrame, in: frame)
        parameters.setExtraData(H264ParameterSetCache.annexB(in: frame.bytes))
        return true
    }

    private func connect() throws(CodecError) {
        guard let format else { throw .cannotOpen(name, reason: "it is closed") }
        deadline.begin(for: MediaAccess.current?.openTimeout)
        if format.pointee.oformat.pointee.flags & AVFMT_NOFILE == 0 {
            var options = MediaAccess.dictionary()
            let opened = avio_open2(
                &format.pointee.pb, uri, AVIO_FLAG_WRITE, &format.pointee.interrupt_callback, &options)
            av_dict_free(&options)
            guard opened >= 0 else {
                throw .cannotOpen(name, reason: deadline.reason ?? CodecError.reason(opened))
            }
        }
        var options = MediaAccess.dictionary()
        let result = avformat_write_header(format, &options)
        av_dict_free(&options)
        guard result >= 0 else { throw .cannotOpen(name, reason: deadline.reason ?? CodecError.reason(result)) }
        hasHeader = true
    }

    private func write(_ bytes: [UInt8], to index: Int32, time: Int64, isKey: Bool) throws(CodecError) {
        guard let format, let stream = format.pointee.streams[Int(index)] else { return }
        let allocated = av_new_packet(packet.pointer, Int32(bytes.count))
        guard allocated >= 0 else { throw .failed("sending", reason: CodecError.reason(allocated)) }
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(
                from: bytes)
        }
        packet.pointer.pointee.stream_index = index
        packet.pointer.pointee.pts = time
        packet.pointer.pointee.dts = time
        if isKey { packet.pointer.pointee.flags |= AV_PKT_FLAG_KEY }
        av_packet_rescale_ts(packet.pointer, Self.timeBase, stream.pointee.time_base)
        deadline.begin()
        let result = av_interleaved_write_frame(format, packet.pointer)
        guard result >= 0 else {
            throw .damaged("reading “\(name)” failed: \(deadline.reason ?? CodecError.reason(result))")
        }
    }

    /// Completes and closes the connection. Nothing can be sent afterwards.
    package func finish() {
        if hasHeader {
            deadline.begin()
            av_write_trailer(format)
        }
        close()
    }

    private func close() {
        guard let context = format else { return }
        if context.pointee.oformat.pointee.flags & AVFMT_NOFILE == 0 { avio_closep(&context.pointee.pb) }
        avformat_free_context(context)
        format = nil
        hasHeader = false
    }
}

extension UnsafeMutablePointer<AVCodecParameters> {
    /// Sets the size, the aspect ratio and the color of a track.
    ///
    /// - Parameters:
    ///   - videoFrame: The decoded frame.
    ///   - frame: The key frame that it was decoded from.
    func describe(_ videoFrame: VideoFrame, in frame: EncodedFrame) {
        var dimensions = videoFrame.dimensions
        // The coded size may differ from the decoded one, which has square pixels.
        if frame.codec == .h264, let set = H264ParameterSetCache.sequenceParameterSet(in: frame.bytes) {
            dimensions = set.dimensions
            if let ratio = set.sampleAspectRatio {
                pointee.sample_aspect_ratio = AVRational(num: ratio.width, den: ratio.height)
            }
        }
        pointee.width = Int32(dimensions.width)
        pointee.height = Int32(dimensions.height)
        describe(videoFrame.color)
    }

    /// Sets the header of a track, which precedes its packets.
    func setExtraData(_ bytes: [UInt8]) {
        guard let memory = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            fatalError("out of memory for a header")
        }
        memory.copyMemory(from: bytes, byteCount: bytes.count)
        av_freep(&pointee.extradata)
        pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        pointee.extradata_size = Int32(bytes.count)
    }
}
