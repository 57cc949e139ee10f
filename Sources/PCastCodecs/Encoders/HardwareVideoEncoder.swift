import CFFmpeg
import CYUV
import Glibc
import PCastCore

/// An H.264 hardware encoder of FFmpeg.
///
/// Its output is filtered: it starts with an IDR frame, and every key frame contains parameter sets, whatever the
/// driver does. Some drivers send parameter sets only once, or none with forced key frames.
final class HardwareVideoEncoder: VideoEncoder {
    var name: String { model.name }

    private let model: HardwareEncoderModel
    private let dimensions: Dimensions
    private let frameRate: Double
    private var bitrate: Bitrate
    private var opened: (encoder: AVVideoEncoder, surface: HardwareSurface)
    private let color: VideoColor
    private var passThrough: H264PassThrough
    /// The bitrate of the open encoder, if it differs from the requested one.
    private var bitrateInForce: Bitrate

    /// The percentage of the current bitrate below which the encoder is reopened at once. Reopening makes a key frame,
    /// which is large, so smaller changes wait for a requested key frame.
    private static let steepFall: Int64 = 75

    /// Opens the encoder. Throws `CodecError` if it is unavailable or rejects the settings.
    init(
        _ model: HardwareEncoderModel, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate,
        color: VideoColor = .bt601
    ) throws(CodecError) {
        self.model = model
        self.color = color
        // Some drivers do not write the color description to the bitstream.
        passThrough = H264PassThrough(color: color)
        self.dimensions = dimensions
        self.frameRate = frameRate
        self.bitrate = bitrate
        bitrateInForce = bitrate
        opened = try Self.open(model, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
    }

    private static func open(
        _ model: HardwareEncoderModel, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate, color: VideoColor
    ) throws(CodecError) -> (AVVideoEncoder, HardwareSurface) {
        guard let codec = avcodec_find_encoder_by_name(model.name) else { throw .missing(model.name) }
        let surfaces: [HardwareEncoderModel.Surface]
        switch model.surfaces() {
        case .success(let found): surfaces = found
        case .failure(let absence): throw .unsupported(absence.reason)
        }
        var failure = CodecError.missing(model.name)
        for surface in surfaces {
            for variant in model.variants {
                do throws(CodecError) {
                    let context = AVCodecContextHolder(codec)
                    try AVVideoEncoder.describe(
                        context.pointer, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
                    let surface = try HardwareSurface(surface, for: context.pointer)
                    try context.open(codec, variant)
                    return (AVVideoEncoder(context), surface)
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) {
        self.bitrate = bitrate
        guard model.supportsRateChange else { return }
        opened.encoder.setBitrate(bitrate)
        bitrateInForce = bitrate
    }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        let isSteep = bitrate.bitsPerSecond < bitrateInForce.bitsPerSecond / 100 * Self.steepFall
        if bitrate != bitrateInForce, forceKeyFrame || isSteep {
            opened = try Self.open(
                model, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
            bitrateInForce = bitrate
        }
        let videoFrame = try opened.surface.transfer(over: frame)
        let encoded = try opened.encoder.encode(videoFrame, of: frame, forceKeyFrame: forceKeyFrame)
        var frames: [EncodedFrame] = []
        for coded in encoded {
            do throws(TranscodeReason) {
                let passed = try passThrough.pass(
                    coded.bytes, timestamp: coded.timestamp, captureTime: coded.captureTime)
                if let passed { frames.append(passed) }
            } catch {
                throw .failed("encoding by \(name)", reason: "\(error)")
            }
        }
        return frames
    }
}

/// Copies frames to the memory from which a hardware encoder reads.
final class HardwareSurface {
    private let surface: HardwareEncoderModel.Surface
    private let videoFrame = AVFrameHolder()
    private let uploaded = AVFrameHolder()
    private var device: UnsafeMutablePointer<AVBufferRef>?
    private var frames: UnsafeMutablePointer<AVBufferRef>?

    /// The number of surfaces in the GPU's pool.
    private static let poolSize: Int32 = 8

    /// Configures an encoder before it is opened. Throws `CodecError.failed` if the device cannot be opened.
    init(
        _ surface: HardwareEncoderModel.Surface, for settings: UnsafeMutablePointer<AVCodecContext>
    ) throws(CodecError) {
        self.surface = surface
        switch surface {
        case .memory(let isNV12): settings.pointee.pix_fmt = isNV12 ? AV_PIX_FMT_NV12 : AV_PIX_FMT_YUV420P
        case .vaapi(let node): try openDevice(node, for: settings)
        }
    }

    deinit {
        av_buffer_unref(&frames)
        av_buffer_unref(&device)
    }

    private func openDevice(_ node: String, for settings: UnsafeMutablePointer<AVCodecContext>) throws(CodecError) {
        let opened = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, node, nil, 0)
        guard opened >= 0 else { throw .failed("opening \(node)", reason: CodecError.reason(opened)) }
        frames = av_hwframe_ctx_alloc(device)
        guard let frames else { throw .failed("opening \(node)", reason: "out of memory") }
        frames.pointee.data.withMemoryRebound(to: AVHWFramesContext.self, capacity: 1) { context in
            context.pointee.format = AV_PIX_FMT_VAAPI
            context.pointee.sw_format = AV_PIX_FMT_NV12
            context.pointee.width = settings.pointee.width
            context.pointee.height = settings.pointee.height
            context.pointee.initial_pool_size = Self.poolSize
        }
        let initialized = av_hwframe_ctx_init(frames)
        guard initialized >= 0 else {
            throw .failed("allocating memory of \(node)", reason: CodecError.reason(initialized))
        }
        settings.pointee.pix_fmt = AV_PIX_FMT_VAAPI
        settings.pointee.hw_frames_ctx = av_buffer_ref(frames)
    }

    /// Returns the frame in the encoder's memory; valid until the next call.
    func transfer(over frame: VideoFrame) throws(CodecError) -> UnsafeMutablePointer<AVFrame> {
        switch surface {
        case .memory(isNV12: false):
            videoFrame.reference(frame)
            return videoFrame.pointer
        case .memory(isNV12: true):
            try convert(frame)
            return videoFrame.pointer
        case .vaapi:
            try convert(frame)
            uploaded.clear()
            var result = av_hwframe_get_buffer(frames, uploaded.pointer, 0)
            if result >= 0 { result = av_hwframe_transfer_data(uploaded.pointer, videoFrame.pointer, 0) }
            guard result >= 0 else { throw .failed("uploading a frame", reason: CodecError.reason(result)) }
            uploaded.pointer.describe(frame.color)
            return uploaded.pointer
        }
    }

    /// Converts the frame to NV12 in its own memory.
    private func convert(_ frame: VideoFrame) throws(CodecError) {
        videoFrame.clear()
        let image = videoFrame.pointer
        image.pointee.format = AV_PIX_FMT_NV12.rawValue
        image.pointee.width = Int32(frame.dimensions.width)
        image.pointee.height = Int32(frame.dimensions.height)
        image.describe(frame.color)
        let allocated = av_frame_get_buffer(image, 0)
        guard allocated >= 0 else { throw .failed("uploading a frame", reason: CodecError.reason(allocated)) }
        _ = I420ToNV12(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideUV), frame.planeV,
            Int32(frame.strideUV), image.pointee.data.0, image.pointee.linesize.0, image.pointee.data.1,
            image.pointee.linesize.1, image.pointee.width, image.pointee.height)
    }
}

/// A hardware encoder of FFmpeg: its requirements and its settings. The settings make it return each frame without
/// delay and make a forced key frame an IDR frame.
struct HardwareEncoderModel: Sendable {
    /// The memory from which the encoder reads frames.
    enum Surface: Hashable, Sendable {
        /// System memory, in I420 or NV12.
        case memory(isNV12: Bool)
        /// GPU memory of the VA-API device at this path.
        case vaapi(node: String)
    }

    let name: String
    /// Settings to try in this order. The first with which the encoder opens is used.
    let variants: [[String: String]]
    /// Whether the bitrate can be changed while encoding. Otherwise the encoder is reopened at a key frame.
    let supportsRateChange: Bool
    /// Returns the surfaces that this machine offers, or the reason why there is none.
    let surfaces: @Sendable () -> Result<[Surface], Unavailable>

    struct Unavailable: Error {
        let reason: String
    }

    /// The H.264 encoders in order of preference.
    static let all = [nvenc, vaapi, v4l2]

    /// NVIDIA NVENC. FFmpeg's default for `forced-idr` is off, which would make forced key frames non-IDR I-frames. The
    /// default for `delay` is the number of surfaces.
    static let nvenc = HardwareEncoderModel(
        name: "h264_nvenc",
        variants: [
            [
                "preset": "p4", "tune": "ull", "profile": "baseline", "rc": "cbr", "forced-idr": "1", "delay": "0",
                "zerolatency": "1", "no-scenecut": "1",
            ]
        ],
        supportsRateChange: true
    ) {
        guard let library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) else {
            return .failure(Unavailable(reason: "the NVIDIA driver is not installed (libcuda.so.1)"))
        }
        dlclose(library)
        return .success([.memory(isNV12: false)])
    }

    /// VA-API (Intel and AMD). Newer Intel GPUs offer only the low-power mode, and some drivers do not support a
    /// constant bitrate.
    static let vaapi = HardwareEncoderModel(
        name: "h264_vaapi",
        variants: [
            ["rc_mode": "CBR", "async_depth": "1"], ["rc_mode": "CBR", "async_depth": "1", "low_power": "1"],
            ["rc_mode": "VBR", "async_depth": "1"],
        ],
        supportsRateChange: false
    ) {
        // The minor numbers of DRM render nodes (Linux, Documentation/gpu/drm-uapi.rst).
        let nodes = (128..<136).map { "/dev/dri/renderD\($0)" }
        let present = nodes.filter { access($0, F_OK) == 0 }
        guard !present.isEmpty else {
            return .failure(Unavailable(reason: "none of /dev/dri/renderD128 to renderD135 exists"))
        }
        let allowed = present.filter { access($0, R_OK | W_OK) == 0 }
        guard !allowed.isEmpty else {
            return .failure(Unavailable(reason: "permission denied for \(present[0]): join the group “render”"))
        }
        return .success(allowed.map { .vaapi(node: $0) })
    }

    /// V4L2 memory-to-memory encoders of systems on a chip.
    static let v4l2 = HardwareEncoderModel(name: "h264_v4l2m2m", variants: [[:]], supportsRateChange: false) {
        guard (0..<64).contains(where: { access("/dev/video\($0)", F_OK) == 0 }) else {
            return .failure(Unavailable(reason: "none of /dev/video0 to /dev/video63 exists"))
        }
        return .success([.memory(isNV12: false), .memory(isNV12: true)])
    }
}
