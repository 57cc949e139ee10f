import CFFmpeg
import PCastCore

/// Converts packets of H.264 from a container to access units in Annex B, which can be sent without re-encoding.
struct CodedVideo {
    private var configuration: AVCDecoderConfiguration?
    private var passThrough: H264PassThrough
    /// The time of the last packet that had one, in microseconds.
    private var lastMoment: Int64 = 0

    /// The number of frames that were held back (see ``H264PassThrough``).
    var droppedCount: Int { passThrough.droppedCount }

    /// Prepares the conversion. Throws the obstacle if the header of the track already shows that its frames cannot be
    /// sent.
    init(_ track: MediaTrack) throws(TranscodeReason) {
        let parameters = track.parameters.pointee
        guard parameters.codec_id == AV_CODEC_ID_H264 else {
            throw .codec(String(cString: avcodec_get_name(parameters.codec_id)))
        }
        if let profile = Self.profile(track), !profile.isWidelyDecodable { throw .profile(profile) }
        guard parameters.video_delay == 0 else { throw .hasReordering }
        guard [AV_FIELD_PROGRESSIVE, AV_FIELD_UNKNOWN].contains(parameters.field_order) else { throw .interlaced }
        let geometry = track.geometry
        guard !geometry.isRotated else { throw .rotated }
        guard !geometry.changes(track.codedDimensions) else { throw .anamorphic }
        configuration = AVCDecoderConfiguration(ByteView(track.header))
        passThrough = H264PassThrough(
            parameterSets: configuration?.parameterSets ?? Array(track.header),
            color: VideoColor(track.parameters, track.codedDimensions))
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
        let accessUnit = configuration.map { $0.annexB(ByteView(bytes)) } ?? Array(bytes)
        let isDamaged = packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 || accessUnit == nil
        lastMoment = moment ?? lastMoment
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: .microseconds(lastMoment)), rate: .video)
        return try passThrough.pass(
            accessUnit ?? [], isDamaged: isDamaged, timestamp: timestamp, captureTime: nil)
    }

    /// Adopts a new header within the stream. An RTMP publisher sends one when it changes its encoder.
    private mutating func takeNewHeader(_ packet: UnsafeMutablePointer<AVPacket>) {
        var count = 0
        guard let header = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count) else { return }
        let bytes = UnsafeRawBufferPointer(start: header, count: count)
        if let new = AVCDecoderConfiguration(ByteView(bytes)) {
            configuration = new
            passThrough.remember(new.parameterSets)
        } else {
            passThrough.remember(Array(bytes))
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
