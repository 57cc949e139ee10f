import CFFmpeg
import CYUV
import PCastCore

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
