import CFFmpeg
public import PCastMedia

/// H.264 by libx264: constrained baseline, no delay, no B-frames, key frames when asked for, parameter sets before each.
///
/// The rate control's window is set when it opens, so that later changes of the rate are obeyed (COD2).
public final class X264Encoder: VideoEncoder {
    private let context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let picture = AVFrameHolder()
    private let dimensions: Dimensions
    /// Frames under way, by the number that libx264 carries; at most one, since it holds none back.
    private var pending: [Int64: VideoFrame] = [:]
    private var next: Int64 = 0

    /// Key frames come when asked for; this is only the longest time without one.
    private static let longestInterval = 3600.0

    /// - Parameters:
    ///   - dimensions: both even.
    ///   - frameRate: pictures a second, for the rate control.
    /// - Throws: `CodecError.unsupported` for an odd size, `CodecError.missing` without libx264.
    public init(dimensions: Dimensions, frameRate: Double, bitrate: Bitrate) throws(CodecError) {
        guard dimensions.width % 2 == 0, dimensions.height % 2 == 0, dimensions.width > 0, dimensions.height > 0 else {
            throw .unsupported("H.264 pictures have even width and height, not \(dimensions)")
        }
        guard (1...1_000).contains(frameRate) else { throw .unsupported("\(frameRate) pictures a second") }
        guard let codec = avcodec_find_encoder_by_name("libx264") else { throw .missing("libx264") }
        self.dimensions = dimensions
        context = AVCodecContextHolder(codec)
        let settings = context.pointer
        let rate = Int32((frameRate * 1000).rounded())
        settings.pointee.width = Int32(dimensions.width)
        settings.pointee.height = Int32(dimensions.height)
        settings.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        settings.pointee.time_base = AVRational(num: 1000, den: rate)
        settings.pointee.framerate = AVRational(num: rate, den: 1000)
        settings.pointee.max_b_frames = 0
        settings.pointee.gop_size = Int32(frameRate * Self.longestInterval)
        settings.pointee.keyint_min = settings.pointee.gop_size
        settings.pointee.thread_count = 1
        settings.pointee.color_range = AVCOL_RANGE_MPEG
        settings.pointee.colorspace = AVCOL_SPC_SMPTE170M
        settings.pointee.color_primaries = AVCOL_PRI_SMPTE170M
        settings.pointee.color_trc = AVCOL_TRC_SMPTE170M
        settings.pointee.profile = FF_PROFILE_H264_CONSTRAINED_BASELINE
        Self.set(bitrate, on: settings)
        try context.open(
            codec,
            [
                "preset": "superfast", "tune": "zerolatency", "profile": "baseline", "forced-idr": "1",
                "x264-params": "scenecut=0:repeat-headers=1:annexb=1:aud=0:sliced-threads=0",
            ])
        picture.pointer.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        picture.pointer.pointee.width = settings.pointee.width
        picture.pointer.pointee.height = settings.pointee.height
    }

    /// The window is half a second: a key frame may take a few frames' share, and the rate holds over a second.
    private static func set(_ bitrate: Bitrate, on settings: UnsafeMutablePointer<AVCodecContext>) {
        // Zero would mean no limit to libx264.
        let rate = max(10_000, bitrate.bitsPerSecond)
        settings.pointee.bit_rate = rate
        settings.pointee.rc_max_rate = rate
        settings.pointee.rc_buffer_size = Int32(clamping: rate / 2)
    }

    public func setBitrate(_ bitrate: Bitrate) throws(CodecError) {
        // libx264's wrapper compares these with what is in force at each picture.
        Self.set(bitrate, on: context.pointer)
    }

    public func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        let image = picture.pointer
        image.pointee.data.0 = frame.planeY
        image.pointee.data.1 = frame.planeU
        image.pointee.data.2 = frame.planeV
        image.pointee.linesize.0 = Int32(frame.strideY)
        image.pointee.linesize.1 = Int32(frame.strideUV)
        image.pointee.linesize.2 = Int32(frame.strideUV)
        image.pointee.pts = next
        image.pointee.pict_type = forceKeyFrame ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        pending[next] = frame
        next += 1
        let result = avcodec_send_frame(context.pointer, image)
        guard result >= 0 else { throw .failed("encoding", reason: CodecError.reason(result)) }
        var frames: [EncodedFrame] = []
        while let encoded = try receive() { frames.append(encoded) }
        return frames
    }

    private func receive() throws(CodecError) -> EncodedFrame? {
        let result = avcodec_receive_packet(context.pointer, packet.pointer)
        if result == cffmpeg_error_again() { return nil }
        guard result >= 0 else { throw .failed("encoding", reason: CodecError.reason(result)) }
        defer { av_packet_unref(packet.pointer) }
        guard let source = pending.removeValue(forKey: packet.pointer.pointee.pts) else {
            throw .failed("encoding", reason: "a picture came out that did not go in")
        }
        let bytes = UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
        return EncodedFrame(
            codec: .h264, bytes: Array(bytes), isKeyFrame: packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0,
            timestamp: source.timestamp, captureTime: source.captureTime)
    }
}
