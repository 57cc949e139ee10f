import CFFmpeg
import PCastMedia

/// A file's H.264 as it is coded: packets become access units in Annex B that can be sent.
struct CodedVideo {
    private var configuration: AVCDecoderConfiguration?
    private var passThrough: H264PassThrough
    /// Of the last packet that had a time.
    private var lastMoment: Int64 = 0

    var droppedCount: Int { passThrough.droppedCount }

    /// - Throws: what is known at the beginning to stand against it.
    init(_ track: MediaTrack) throws(PassThroughObstacle) {
        let parameters = track.parameters.pointee
        guard parameters.codec_id == AV_CODEC_ID_H264 else {
            throw .codec(String(cString: avcodec_get_name(parameters.codec_id)))
        }
        if let profile = Self.profile(track), !profile.isWidelyDecodable { throw .profile(profile) }
        guard parameters.video_delay == 0 else { throw .hasReordering }
        guard [AV_FIELD_PROGRESSIVE, AV_FIELD_UNKNOWN].contains(parameters.field_order) else { throw .interlaced }
        let geometry = track.geometry
        guard !geometry.isTurned else { throw .rotated }
        guard !geometry.changes(track.codedDimensions) else { throw .anamorphic }
        configuration = AVCDecoderConfiguration(track.header)
        passThrough = H264PassThrough(
            parameterSets: configuration?.parameterSets ?? Array(track.header),
            color: VideoColor(track.parameters, track.codedDimensions))
    }

    /// As the file's header or libavformat's first look at the pictures says; nil when unknown or not H.264.
    static func profile(_ track: MediaTrack) -> H264Profile? {
        let parameters = track.parameters.pointee
        guard parameters.codec_id == AV_CODEC_ID_H264, parameters.profile > 0 else { return nil }
        let isConstrained = parameters.profile & FF_PROFILE_H264_CONSTRAINED != 0
        return H264Profile(
            number: UInt8(truncatingIfNeeded: parameters.profile), constraints: isConstrained ? 0x40 : 0)
    }

    /// - Parameter moment: microseconds since the beginning; nil when the packet does not say.
    /// - Returns: nil for what is held back.
    /// - Throws: what stands against it; this packet is to be decoded then.
    mutating func take(
        _ packet: UnsafeMutablePointer<AVPacket>, moment: Int64?
    ) throws(PassThroughObstacle) -> EncodedFrame? {
        takeNewHeader(packet)
        let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
        let accessUnit = configuration.map { $0.annexB(bytes) } ?? Array(bytes)
        let isDamaged = packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 || accessUnit == nil
        lastMoment = moment ?? lastMoment
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: .microseconds(lastMoment)), rate: .video)
        return try passThrough.pass(
            accessUnit ?? [], isDamaged: isDamaged, timestamp: timestamp, captureTime: nil)
    }

    /// A publisher of RTMP that changes its encoder sends a new one on the way.
    private mutating func takeNewHeader(_ packet: UnsafeMutablePointer<AVPacket>) {
        var count = 0
        guard let header = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count) else { return }
        let bytes = UnsafeRawBufferPointer(start: header, count: count)
        if let new = AVCDecoderConfiguration(bytes) {
            configuration = new
            passThrough.remember(new.parameterSets)
        } else {
            passThrough.remember(Array(bytes))
        }
    }
}
