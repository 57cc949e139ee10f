import CFFmpeg
import Glibc
package import PCastCore

/// Encodes frames as PNG or JPEG files.
package enum StillImage {
    /// A file format.
    package enum Format: Sendable {
        case png
        case jpeg
    }

    /// The quality of JPEG as FFmpeg's quantizer scale: 3, of 1 (best) to 31.
    private static let quality = 3 * FF_QP2LAMBDA

    /// Writes a frame to a file. The extension selects the format: `.png`, `.jpg` or `.jpeg`. Throws
    /// `CodecError.unsupported` for another extension, or `CodecError.cannotWrite`.
    package static func write(_ frame: VideoFrame, to path: String) throws(CodecError) {
        let ending = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
        let format: Format
        switch ending {
        case "png": format = .png
        case "jpg", "jpeg": format = .jpeg
        default: throw .unsupported("“\(path)” is not a supported image: use a file that ends in .png, .jpg or .jpeg")
        }
        let bytes = try encode(frame, as: format)
        guard let file = fopen(path, "wb") else { throw .cannotWrite(path, reason: String(cString: strerror(errno))) }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            throw .cannotWrite(path, reason: String(cString: strerror(errno)))
        }
    }

    /// Returns a frame as the bytes of a file. Throws `CodecError.failed`.
    package static func encode(_ frame: VideoFrame, as format: Format) throws(CodecError) -> [UInt8] {
        let id = format == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG
        guard let codec = avcodec_find_encoder(id) else { throw .missing("an encoder of still images") }
        let pixels = format == .png ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_YUVJ420P
        // JPEG always uses the BT.601 matrix (JFIF 1.02).
        let videoFrame = try convert(
            format == .jpeg ? MatrixConverter().convert(frame, to: .bt601) : frame, to: pixels)
        let context = AVCodecContextHolder(codec)
        context.pointer.pointee.width = Int32(frame.dimensions.width)
        context.pointer.pointee.height = Int32(frame.dimensions.height)
        context.pointer.pointee.pix_fmt = pixels
        context.pointer.pointee.time_base = AVRational(num: 1, den: 1)
        context.pointer.pointee.color_range = AVCOL_RANGE_JPEG
        if format == .jpeg {
            context.pointer.pointee.flags |= AV_CODEC_FLAG_QSCALE
            context.pointer.pointee.global_quality = quality
        }
        try context.open(codec)
        let packet = AVPacketHolder()
        let sent = avcodec_send_frame(context.pointer, videoFrame.pointer)
        guard sent >= 0 else { throw .failed("writing a still image", reason: CodecError.reason(sent)) }
        let received = avcodec_receive_packet(context.pointer, packet.pointer)
        guard received >= 0 else { throw .failed("writing a still image", reason: CodecError.reason(received)) }
        defer { av_packet_unref(packet.pointer) }
        return Array(
            UnsafeRawBufferPointer(start: packet.pointer.pointee.data, count: Int(packet.pointer.pointee.size)))
    }

    private static func convert(_ frame: VideoFrame, to format: AVPixelFormat) throws(CodecError) -> AVFrameHolder {
        let source = AVFrameHolder()
        source.wrap(frame)
        let target = AVFrameHolder()
        target.pointer.pointee.format = format.rawValue
        target.pointer.pointee.width = source.pointer.pointee.width
        target.pointer.pointee.height = source.pointer.pointee.height
        target.pointer.pointee.color_range = AVCOL_RANGE_JPEG
        target.pointer.pointee.quality = quality
        let allocated = av_frame_get_buffer(target.pointer, 0)
        let scaler = sws_getContext(
            source.pointer.pointee.width, source.pointer.pointee.height, AV_PIX_FMT_YUV420P,
            target.pointer.pointee.width, target.pointer.pointee.height, format, SWS_BICUBIC, nil, nil, nil)
        defer { sws_freeContext(scaler) }
        guard allocated >= 0, let scaler else { throw .failed("converting a still image", reason: "out of memory") }
        let matrix = sws_getCoefficients(frame.matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_DEFAULT)
        sws_setColorspaceDetails(scaler, matrix, 0, sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16)
        let scaled = sws_scale_frame(scaler, target.pointer, source.pointer)
        guard scaled >= 0 else { throw .failed("converting a still image", reason: CodecError.reason(scaled)) }
        return target
    }
}

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
