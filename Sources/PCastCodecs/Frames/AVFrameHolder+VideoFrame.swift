import CFFmpeg
import PCastCore

extension AVFrameHolder {
    /// Makes the `AVFrame` refer to the memory of a frame, without a reference count. The frame must outlive its use.
    func wrap(_ frame: VideoFrame) {
        pointer.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        pointer.pointee.width = Int32(frame.dimensions.width)
        pointer.pointee.height = Int32(frame.dimensions.height)
        pointer.describe(frame.color)
        pointer.pointee.data.0 = frame.planeY
        pointer.pointee.data.1 = frame.planeU
        pointer.pointee.data.2 = frame.planeV
        pointer.pointee.linesize.0 = Int32(frame.strideY)
        pointer.pointee.linesize.1 = Int32(frame.strideUV)
        pointer.pointee.linesize.2 = Int32(frame.strideUV)
    }

    /// Makes the `AVFrame` refer to the memory of a frame without copying. FFmpeg keeps the frame alive and may release
    /// it on any thread.
    func reference(_ frame: VideoFrame) {
        clear()
        wrap(frame)
        let owner = Unmanaged.passRetained(frame)
        pointer.pointee.buf.0 = av_buffer_create(
            frame.planeY, frame.memory.count,
            { owner, _ in Unmanaged<VideoFrame>.fromOpaque(owner!).release() }, owner.toOpaque(),
            AV_BUFFER_FLAG_READONLY)
        // Allocation failed. FFmpeg copies frames that are not reference-counted.
        if pointer.pointee.buf.0 == nil { owner.release() }
    }

    func clear() { av_frame_unref(pointer) }
}
