import CFFmpeg
import PCastMedia

/// An encoder of libavcodec: pictures in, coded pictures with the times of theirs out.
final class AVVideoEncoder {
    private struct Source {
        let number: Int64
        let timestamp: MediaTime
        let captureTime: WallTime?
    }

    private let context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    /// Pictures under way, oldest first.
    private var pending: [Source] = []
    private var next: Int64 = 0

    /// No encoder that is used holds back so many; more have been left out.
    private static let pendingLimit = 32

    /// Key frames come when asked for; this is only the longest time without one, in seconds.
    private static let longestInterval = 3600.0

    /// - Parameter context: opened.
    init(_ context: AVCodecContextHolder) { self.context = context }

    /// Describes the pictures to an encoder that is to be opened: no B-frames, one thread.
    ///
    /// - Throws: `CodecError.unsupported` for an odd size or a rate that makes no sense.
    static func describe(
        _ settings: UnsafeMutablePointer<AVCodecContext>, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate,
        color: VideoColor
    ) throws(CodecError) {
        guard dimensions.width % 2 == 0, dimensions.height % 2 == 0, dimensions.width > 0, dimensions.height > 0 else {
            throw .unsupported("H.264 pictures have even width and height, not \(dimensions)")
        }
        guard (1...1_000).contains(frameRate) else { throw .unsupported("\(frameRate) pictures a second") }
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
        settings.pointee.profile = FF_PROFILE_H264_CONSTRAINED_BASELINE
        set(bitrate, on: settings)
    }

    /// The window is half a second: a key frame may take a few frames' share, and the rate holds over a second.
    private static func set(_ bitrate: Bitrate, on settings: UnsafeMutablePointer<AVCodecContext>) {
        // Zero would mean no limit to libx264.
        let rate = max(10_000, bitrate.bitsPerSecond)
        settings.pointee.bit_rate = rate
        settings.pointee.rc_max_rate = rate
        settings.pointee.rc_buffer_size = Int32(clamping: rate / 2)
    }

    /// Of encoders whose wrapper compares these with what is in force at each picture: libx264 and NVENC.
    func setBitrate(_ bitrate: Bitrate) { Self.set(bitrate, on: context.pointer) }

    /// - Parameters:
    ///   - picture: as the encoder takes it.
    ///   - source: what it was made of.
    func encode(
        _ picture: UnsafeMutablePointer<AVFrame>, of source: VideoFrame, forceKeyFrame: Bool
    ) throws(CodecError) -> [EncodedFrame] {
        picture.pointee.pts = next
        picture.pointee.pict_type = forceKeyFrame ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        if pending.count >= Self.pendingLimit { pending.removeFirst() }
        pending.append(Source(number: next, timestamp: source.timestamp, captureTime: source.captureTime))
        next += 1
        var frames: [EncodedFrame] = []
        var sent = avcodec_send_frame(context.pointer, picture)
        if sent == cffmpeg_error_again() {
            // It wants to be rid of some first.
            while let encoded = try receive() { frames.append(encoded) }
            sent = avcodec_send_frame(context.pointer, picture)
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
            throw .failed("encoding", reason: "a picture came out that did not go in")
        }
        let source = pending.remove(at: index)
        let bytes = UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size))
        return EncodedFrame(
            codec: .h264, bytes: Array(bytes), isKeyFrame: packet.pointer.pointee.flags & AV_PKT_FLAG_KEY != 0,
            timestamp: source.timestamp, captureTime: source.captureTime)
    }
}
