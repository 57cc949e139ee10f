import CVPX
package import PCastCore

/// An encoder of VP8 or of VP9 (profile 0). It calls libvpx directly, because libavcodec's wrapper ignores bitrate changes
/// while encoding.
package final class VPXEncoder: VideoEncoder {
    /// The state of libvpx. It is freed once, even if the encoder's `init` throws.
    private final class Context {
        let pointer = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)

        init() { pointer.initialize(to: vpx_codec_ctx_t()) }

        deinit {
            vpx_codec_destroy(pointer)  // has no effect on a context that was not opened
            pointer.deallocate()
        }
    }

    /// FFmpeg's name of the encoder, `libvpx` or `libvpx-vp9`.
    package let name: String

    /// Returns the name of the encoder of a codec.
    static func name(of codec: Codec) -> String { codec == .vp9 ? "libvpx-vp9" : "libvpx" }

    private let codec: Codec
    private let holder = Context()
    private var context: UnsafeMutablePointer<vpx_codec_ctx_t> { holder.pointer }
    private var configuration = vpx_codec_enc_cfg_t()
    private let dimensions: Dimensions
    private let ticksPerFrame: Int64
    private var next: Int64 = 0
    private let matrices = MatrixConverter()

    /// The speed. That of VP8 is from 1 (best) to 16 (fastest), and a negative value sets a fixed one. The adaptive speed
    /// of libvpx used twice the CPU time for a gain of 0.5 dB. That of VP9 is from 0 to 9.
    private static func speed(of codec: Codec) -> Int32 { codec == .vp9 ? 8 : -8 }

    /// Opens the encoder.
    ///
    /// - Parameters:
    ///   - codec: VP8 or VP9.
    ///   - dimensions: The size of the frames, even numbers.
    ///   - frameRate: The frames per second, for the rate control; 1...1,000.
    ///   - bitrate: The target bitrate.
    /// - Throws: `CodecError.unsupported` if libvpx does not accept the settings.
    package init(
        codec: Codec = .vp8, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate
    ) throws(CodecError) {
        precondition(codec == .vp8 || codec == .vp9, "libvpx encodes VP8 and VP9")
        (self.codec, name) = (codec, Self.name(of: codec))
        guard (1...1_000).contains(frameRate) else { throw .unsupported("\(frameRate) frames per second") }
        guard (1...16_383).contains(dimensions.width), (1...16_383).contains(dimensions.height) else {
            throw .unsupported("\(codec.rawValue) video of \(dimensions)")
        }
        self.dimensions = dimensions
        ticksPerFrame = Int64((90_000 / frameRate).rounded())
        let interface = codec == .vp9 ? vpx_codec_vp9_cx() : vpx_codec_vp8_cx()
        guard vpx_codec_enc_config_default(interface, &configuration, 0) == VPX_CODEC_OK else {
            throw .missing("libvpx")
        }
        configuration.g_w = UInt32(dimensions.width)
        configuration.g_h = UInt32(dimensions.height)
        configuration.g_timebase.num = 1
        configuration.g_timebase.den = 90_000
        configuration.g_threads = 1
        configuration.g_lag_in_frames = 0
        configuration.g_pass = VPX_RC_ONE_PASS
        configuration.g_error_resilient = 0
        configuration.rc_end_usage = VPX_CBR
        configuration.rc_min_quantizer = 4
        configuration.rc_max_quantizer = 63
        configuration.rc_undershoot_pct = 100
        configuration.rc_overshoot_pct = 15
        configuration.rc_buf_initial_sz = 500
        configuration.rc_buf_optimal_sz = 600
        configuration.rc_buf_sz = 1000
        configuration.rc_dropframe_thresh = 0
        configuration.kf_mode = VPX_KF_DISABLED
        configuration.rc_target_bitrate = Self.kilobits(bitrate)
        guard cvpx_encoder_open(holder.pointer, interface, &configuration) == VPX_CODEC_OK else {
            throw .unsupported("\(codec.rawValue) cannot be encoded at \(dimensions)")
        }
        _ = cvpx_control(context, Int32(VP8E_SET_CPUUSED.rawValue), Self.speed(of: codec))
        _ = cvpx_control(context, Int32(VP8E_SET_STATIC_THRESHOLD.rawValue), 1)
        _ = cvpx_control(context, Int32(VP8E_SET_MAX_INTRA_BITRATE_PCT.rawValue), 900)
        guard codec == .vp9 else { return }
        // Cyclic refresh, which suits a constant bit rate.
        _ = cvpx_control(context, Int32(VP9E_SET_AQ_MODE.rawValue), 3)
        _ = cvpx_control(context, Int32(VP9E_SET_COLOR_SPACE.rawValue), Int32(VPX_CS_BT_601.rawValue))
    }

    /// Returns the bitrate in libvpx's unit (kbit/s), within the range that does not overflow.
    private static func kilobits(_ bitrate: Bitrate) -> UInt32 {
        UInt32(max(10, min(bitrate.bitsPerSecond / 1000, 1_000_000)))
    }

    /// Changes the bitrate while encoding. Throws `CodecError.failed` if libvpx refuses it.
    package func setBitrate(_ bitrate: Bitrate) throws(CodecError) {
        configuration.rc_target_bitrate = Self.kilobits(bitrate)
        guard vpx_codec_enc_config_set(context, &configuration) == VPX_CODEC_OK else {
            throw .failed("changing the bit rate", reason: reason)
        }
    }

    private var reason: String { vpx_codec_error(context).map { String(cString: $0) } ?? "no reason given" }

    /// Encodes a frame. The result is empty if the rate control dropped it. Throws `CodecError.unsupported` for a frame
    /// of another size, or `CodecError.failed`.
    package func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        // VP8 always uses the BT.601 matrix (RFC 6386, section 9.2). VP9 declares it.
        let frame = matrices.convert(frame, to: .bt601)
        var image = vpx_image_t()
        vpx_img_wrap(
            &image, VPX_IMG_FMT_I420, UInt32(dimensions.width), UInt32(dimensions.height), 1, frame.planeY)
        image.planes.0 = frame.planeY
        image.planes.1 = frame.planeU
        image.planes.2 = frame.planeV
        image.stride.0 = Int32(frame.strideY)
        image.stride.1 = Int32(frame.strideUV)
        image.stride.2 = Int32(frame.strideUV)
        let flags = forceKeyFrame ? cvpx_force_key_frame() : 0
        let result = vpx_codec_encode(
            context, &image, next, UInt(ticksPerFrame), flags, cvpx_deadline_realtime())
        guard result == VPX_CODEC_OK else { throw .failed("encoding", reason: reason) }
        next += ticksPerFrame
        return collect(frame)
    }

    private func collect(_ source: VideoFrame) -> [EncodedFrame] {
        var frames: [EncodedFrame] = []
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context, &iterator) {
            var bytes: UnsafeRawPointer?
            var count = 0
            var isKeyFrame: Int32 = 0
            guard cvpx_packet_picture(packet, &bytes, &count, &isKeyFrame) != 0, count > 0 else { continue }
            frames.append(
                EncodedFrame(
                    codec: codec, bytes: Array(UnsafeRawBufferPointer(start: bytes, count: count)),
                    isKeyFrame: isKeyFrame != 0, timestamp: source.timestamp, captureTime: source.captureTime))
        }
        return frames
    }
}
