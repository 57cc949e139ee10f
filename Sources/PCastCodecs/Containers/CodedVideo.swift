import CFFmpeg
import PCastCore

/// Converts packets of H.264 or H.265 from a container to access units in Annex B, which can be sent without re-encoding.
struct CodedVideo {
    /// The filter of a codec, with the header of the container; nil if the packets are in Annex B.
    private enum Filter {
        case h264(AVCDecoderConfiguration?, H264PassThrough)
        case h265(HEVCDecoderConfiguration?, H265PassThrough)
    }

    private var filter: Filter
    /// The time of the last packet that had one, in microseconds.
    private var lastMoment: Int64 = 0

    /// The number of frames that were held back (see ``H264PassThrough``).
    var droppedCount: Int {
        switch filter {
        case .h264(_, let passThrough): passThrough.droppedCount
        case .h265(_, let passThrough): passThrough.droppedCount
        }
    }

    /// The codec of the track.
    var codec: Codec {
        switch filter {
        case .h264: .h264
        case .h265: .h265
        }
    }

    /// Prepares the conversion of a track in one of the codecs. Throws the obstacle if the header of the track already
    /// shows that its frames cannot be sent.
    init(_ track: MediaTrack, codecs: Set<Codec>) throws(TranscodeReason) {
        let parameters = track.parameters.pointee
        guard let codec = codecs.first(where: { Self.identifier(of: $0) == parameters.codec_id }) else {
            throw .codec(String(cString: avcodec_get_name(parameters.codec_id)))
        }
        if let profile = Self.profile(track), !profile.isWidelyDecodable { throw .profile(profile) }
        guard parameters.video_delay == 0 else { throw .hasReordering }
        guard [AV_FIELD_PROGRESSIVE, AV_FIELD_UNKNOWN].contains(parameters.field_order) else { throw .interlaced }
        let geometry = track.geometry
        guard !geometry.isRotated else { throw .rotated }
        guard !geometry.changes(track.codedDimensions) else { throw .anamorphic }
        let header = ByteView(track.header)
        if codec == .h265 {
            let configuration = HEVCDecoderConfiguration(header)
            filter = .h265(
                configuration, H265PassThrough(parameterSets: configuration?.parameterSets ?? Array(track.header)))
        } else {
            let configuration = AVCDecoderConfiguration(header)
            filter = .h264(
                configuration,
                H264PassThrough(
                    parameterSets: configuration?.parameterSets ?? Array(track.header),
                    color: VideoColor(track.parameters, track.codedDimensions)))
        }
    }

    /// Returns libavcodec's identifier of a codec that is passed through; nil for others.
    private static func identifier(of codec: Codec) -> AVCodecID? {
        switch codec {
        case .h264: AV_CODEC_ID_H264
        case .h265: AV_CODEC_ID_HEVC
        case .vp8, .vp9, .av1, .opus: nil
        }
    }

    /// Returns the H.264 profile from the header of the container or from libavformat's probing. Returns nil if it is
    /// unknown or the codec is another one.
    static func profile(_ track: MediaTrack) -> H264ProfileIDC? {
        let parameters = track.parameters.pointee
        guard parameters.codec_id == AV_CODEC_ID_H264, parameters.profile > 0 else { return nil }
        let isConstrained = parameters.profile & FF_PROFILE_H264_CONSTRAINED != 0
        return H264ProfileIDC(
            number: UInt8(truncatingIfNeeded: parameters.profile), constraints: isConstrained ? 0x40 : 0)
    }

    /// Converts a packet. Returns nil if the frame is held back. Throws the obstacle if the frame cannot be sent; the
    /// caller decodes this packet instead. The moment is in microseconds since the start, nil if the packet has no
    /// timestamp.
    mutating func take(
        _ packet: UnsafeMutablePointer<AVPacket>, moment: Int64?
    ) throws(TranscodeReason) -> EncodedFrame? {
        takeNewHeader(packet)
        let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
        lastMoment = moment ?? lastMoment
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: .microseconds(lastMoment)), rate: .video)
        let isMarked = packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
        switch filter {
        case .h264(let configuration, var passThrough):
            let accessUnit = configuration.map { $0.annexB(ByteView(bytes)) } ?? Array(bytes)
            defer { filter = .h264(configuration, passThrough) }
            return try passThrough.pass(
                accessUnit ?? [], isDamaged: isMarked || accessUnit == nil, timestamp: timestamp, captureTime: nil)
        case .h265(let configuration, var passThrough):
            let accessUnit = configuration.map { $0.annexB(ByteView(bytes)) } ?? Array(bytes)
            defer { filter = .h265(configuration, passThrough) }
            return try passThrough.pass(
                accessUnit ?? [], isDamaged: isMarked || accessUnit == nil, timestamp: timestamp, captureTime: nil)
        }
    }

    /// Adopts a new header within the stream. An RTMP publisher sends one when it changes its encoder.
    private mutating func takeNewHeader(_ packet: UnsafeMutablePointer<AVPacket>) {
        var count = 0
        guard let header = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count) else { return }
        let bytes = UnsafeRawBufferPointer(start: header, count: count)
        switch filter {
        case .h264(let former, var passThrough):
            let new = AVCDecoderConfiguration(ByteView(bytes))
            passThrough.remember(new?.parameterSets ?? Array(bytes))
            filter = .h264(new ?? former, passThrough)
        case .h265(let former, var passThrough):
            let new = HEVCDecoderConfiguration(ByteView(bytes))
            passThrough.remember(new?.parameterSets ?? Array(bytes))
            filter = .h265(new ?? former, passThrough)
        }
    }
}

/// A track of an input. It is valid as long as the input.
struct MediaTrack {
    let index: Int32
    let stream: UnsafeMutablePointer<AVStream>
    let codec: UnsafePointer<AVCodec>

    var parameters: UnsafeMutablePointer<AVCodecParameters> { stream.pointee.codecpar }
    var timeBase: AVRational { stream.pointee.time_base }

    /// The encoded size of the frames, rounded down to even numbers.
    var codedDimensions: Dimensions {
        Dimensions(width: Int(parameters.pointee.width) & ~1, height: Int(parameters.pointee.height) & ~1)
    }

    /// The presented size of the frames: upright, with square pixels.
    var dimensions: Dimensions { geometry.presented(codedDimensions) }

    var geometry: FrameGeometry { FrameGeometry(stream) }

    /// The header that precedes the packets, such as parameter sets, in the container's own form.
    var header: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: parameters.pointee.extradata, count: Int(max(0, parameters.pointee.extradata_size)))
    }

    /// Converts a timestamp to microseconds since the start of the input. Returns nil for no timestamp.
    func moment(_ timestamp: Int64, of input: MediaInput) -> Int64? {
        guard timestamp != cffmpeg_no_timestamp() else { return nil }
        return av_rescale_q(timestamp, timeBase, cffmpeg_time_base()) - input.origin
    }

    /// Returns a decoder for the track; nil if its header is invalid.
    func decoder() throws(CodecError) -> AVCodecContextHolder? {
        try AVCodecContextHolder.decoder(codec, parameters, timeBase: timeBase)
    }
}
