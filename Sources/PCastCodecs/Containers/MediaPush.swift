import CFFmpeg
public import PCastMedia

/// Sends a stream of H.264 and AAC to an address as it comes: FLV by RTMP, MPEG-TS by SRT, RTP by RTSP.
///
/// Opened with the first key frame. Used by one thread at a time, but for `cancel`.
public final class MediaPush: @unchecked Sendable {  // owned by one thread at a time; `cancel` sets an atomic
    /// What a track is made of.
    public enum Piece: Sendable {
        /// H.264 in Annex B.
        case picture(EncodedFrame)
        case sound([UInt8])
    }

    private let uri: String
    private let name: String
    private let formatName: String
    private let deadline = ReadingDeadline(patience: .seconds(10))
    private var format: UnsafeMutablePointer<AVFormatContext>?
    private var pictures: Int32?
    private var sounds: Int32?
    private var lastTimes: [Int32: Int64] = [:]
    private let packet = AVPacketHolder()
    private var hasHeader = false

    private static let timeBase = AVRational(num: 1, den: 1_000_000)
    /// A medium that stays away holds the other up for so long at most, in microseconds.
    private static let interleaving: Int64 = 500_000

    /// - Parameters:
    ///   - name: what the address is called in errors.
    ///   - format: libavformat's name: `flv`, `mpegts` or `rtsp`.
    ///   - sound: AudioSpecificConfig of the AAC; nil without sound.
    public init(uri: String, name: String, format: String, hasPictures: Bool, sound: [UInt8]?) throws(CodecError) {
        AVLog.quiet()
        (self.uri, self.name, formatName) = (uri, name, format)
        guard avformat_alloc_output_context2(&self.format, nil, format, uri) >= 0, let context = self.format else {
            throw .missing("libavformat's \(format)")
        }
        context.pointee.max_interleave_delta = Self.interleaving
        context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
        context.pointee.interrupt_callback.opaque = Unmanaged.passUnretained(deadline).toOpaque()
        context.pointee.interrupt_callback.callback = { context in
            Unmanaged<ReadingDeadline>.fromOpaque(context!).takeUnretainedValue().isOver ? 1 : 0
        }
        if hasPictures { pictures = try addStream(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264, []) }
        if let sound { sounds = try addStream(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC, sound) }
    }

    deinit { close() }

    /// Makes a call that waits, now or later, end at once. From any thread.
    public func cancel() { deadline.cancel() }

    /// Whether the other side is connected.
    public var isOpen: Bool { hasHeader }

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

    /// Sends a piece, and connects before the first: nothing is sent before a key frame, where there are pictures.
    ///
    /// - Parameter moment: when it is shown or heard, since the beginning.
    public func push(_ piece: Piece, at moment: TimeSpan) throws(CodecError) {
        if !hasHeader {
            if pictures != nil {
                guard case .picture(let frame) = piece, frame.isKeyFrame, try describe(frame) else { return }
            }
            try connect()
        }
        let (index, bytes, isKey): (Int32?, [UInt8], Bool) =
            switch piece {
            case .picture(let frame): (pictures, frame.bytes, frame.isKeyFrame)
            case .sound(let bytes): (sounds, bytes, true)
            }
        guard let index else { return }
        let time = max(moment.nanoseconds / 1_000, (lastTimes[index] ?? -1) + 1)
        lastTimes[index] = time
        try write(bytes, to: index, time: time, isKey: isKey)
    }

    /// Learns the pictures' size and parameter sets from a key frame; false when it is damaged.
    private func describe(_ frame: EncodedFrame) throws(CodecError) -> Bool {
        guard let pictures, let parameters = format?.pointee.streams[Int(pictures)]?.pointee.codecpar else {
            return false
        }
        guard let picture = try? H264Decoder().decode(frame).first else { return false }
        parameters.describe(picture, in: frame)
        parameters.setExtraData(H264ParameterSets.annexB(in: frame.bytes))
        return true
    }

    private func connect() throws(CodecError) {
        guard let format else { throw .cannotOpen(name, reason: "it is closed") }
        deadline.begin(for: MediaAccess.current?.openingPatience)
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
            throw .damaged("“\(name)” broke off: \(deadline.reason ?? CodecError.reason(result))")
        }
    }

    /// Says goodbye; nothing can be sent afterwards.
    public func finish() {
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
    /// Declares what the frames of a track are.
    ///
    /// - Parameters:
    ///   - picture: what was decoded of `frame`.
    ///   - frame: a key frame.
    func describe(_ picture: VideoFrame, in frame: EncodedFrame) {
        var dimensions = picture.dimensions
        // As it is coded, which a picture that was decoded need not be.
        if frame.codec == .h264, let set = H264ParameterSets.sequenceParameterSet(in: frame.bytes) {
            dimensions = set.dimensions
            if let ratio = set.sampleAspectRatio {
                pointee.sample_aspect_ratio = AVRational(num: ratio.width, den: ratio.height)
            }
        }
        pointee.width = Int32(dimensions.width)
        pointee.height = Int32(dimensions.height)
        describe(picture.color)
    }

    /// What stands before a track's packets.
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
