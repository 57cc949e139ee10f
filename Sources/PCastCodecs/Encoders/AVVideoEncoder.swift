import CFFmpeg
import PCastCore

/// A video encoder of libavcodec. It returns encoded frames with the timestamps of their source frames.
final class AVVideoEncoder {
    private struct Source {
        let number: Int64
        let timestamp: MediaTime
        let captureTime: WallTime?
    }

    private let context: AVCodecContextHolder
    private let codec: Codec
    private let packet = AVPacketHolder()
    /// The frames that were sent to the encoder and have not come out, oldest first.
    private var pending: [Source] = []
    private var next: Int64 = 0

    /// The bound of `pending`. No encoder in use delays so many frames, so older ones were dropped.
    private static let pendingLimit = 32

    /// The longest time between key frames, in seconds. Key frames are otherwise made on request only.
    private static let longestInterval = 3600.0

    /// Creates an encoder of a codec from a context that is already open.
    init(_ context: AVCodecContextHolder, codec: Codec = .h264) { (self.context, self.codec) = (context, codec) }

    /// Configures an encoder before it is opened: no B-frames, one thread. Throws `CodecError.unsupported` for an odd
    /// size or a frame rate outside 1...1,000.
    static func describe(
        _ settings: UnsafeMutablePointer<AVCodecContext>, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate,
        color: VideoColor, profile: Int32 = FF_PROFILE_H264_CONSTRAINED_BASELINE
    ) throws(CodecError) {
        guard dimensions.width % 2 == 0, dimensions.height % 2 == 0, dimensions.width > 0, dimensions.height > 0 else {
            throw .unsupported("4:2:0 requires an even width and height, not \(dimensions)")
        }
        guard (1...1_000).contains(frameRate) else { throw .unsupported("\(frameRate) frames per second") }
        let rate = Int32((frameRate * 1000).rounded())
        settings.pointee.width = Int32(clamping: dimensions.width)
        settings.pointee.height = Int32(clamping: dimensions.height)
        settings.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        settings.pointee.time_base = AVRational(num: 1000, den: rate)
        settings.pointee.framerate = AVRational(num: rate, den: 1000)
        settings.pointee.max_b_frames = 0
        settings.pointee.gop_size = Int32(frameRate * Self.longestInterval)
        settings.pointee.keyint_min = settings.pointee.gop_size
        settings.pointee.thread_count = 1
        settings.describe(color)
        settings.pointee.profile = profile
        set(bitrate, on: settings)
    }

    /// Sets the bitrate with a rate-control buffer of half a second. A key frame may use the share of several frames,
    /// and the bitrate holds over one second.
    private static func set(_ bitrate: Bitrate, on settings: UnsafeMutablePointer<AVCodecContext>) {
        // libx264 would read zero as no limit.
        let rate = max(10_000, bitrate.bitsPerSecond)
        settings.pointee.bit_rate = rate
        settings.pointee.rc_max_rate = rate
        settings.pointee.rc_buffer_size = Int32(clamping: rate / 2)
    }

    /// Changes the bitrate while encoding. It works for encoders whose wrapper compares the setting at each frame:
    /// libx264 and NVENC.
    func setBitrate(_ bitrate: Bitrate) { Self.set(bitrate, on: context.pointer) }

    /// Encodes a frame in the encoder's own format, which was made from `source`. Returns the encoded frames that are
    /// ready. Throws `CodecError.failed`.
    func encode(
        _ frame: UnsafeMutablePointer<AVFrame>, of source: VideoFrame, forceKeyFrame: Bool
    ) throws(CodecError) -> [EncodedFrame] {
        frame.pointee.pts = next
        frame.pointee.pict_type = forceKeyFrame ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        if pending.count >= Self.pendingLimit { pending.removeFirst() }
        pending.append(Source(number: next, timestamp: source.timestamp, captureTime: source.captureTime))
        next += 1
        var frames: [EncodedFrame] = []
        var sent = avcodec_send_frame(context.pointer, frame)
        if sent == cffmpeg_error_again() {
            // the encoder requires its output to be read first
            while let encoded = try receive() { frames.append(encoded) }
            sent = avcodec_send_frame(context.pointer, frame)
        }
        guard sent >= 0 else { throw .failed("encoding", reason: CodecError.reason(sent)) }
        while let encoded = try receive() { frames.append(encoded) }
        return frames
    }

    private func receive() throws(CodecError) -> EncodedFrame? {
        let result = avcodec_receive_packet(context.pointer, packet.pointer)
        if result == cffmpeg_error_again() { return nil }
        guard result >= 0 else { throw .failed("encoding", reason: CodecError.reason(result)) }
        defer { av_packet_unref(packet.pointer) }
        guard let index = pending.firstIndex(where: { $0.number == packet.pointer.pointee.pts }) else {
            throw .failed("encoding", reason: "the encoder returned a frame that it did not receive")
        }
        let source = pending.remove(at: index)
        let bytes = UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
        return EncodedFrame(
            codec: codec, bytes: Array(bytes), isKeyFrame: packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0,
            timestamp: source.timestamp, captureTime: source.captureTime)
    }
}
