import CFFmpeg
package import PCastCore

/// Decodes the JPEG images of cameras on one thread. Only one thread may use it at a time.
///
/// Images without Huffman tables, which most cameras send, are decoded with the tables of the standard (ITU-T T.81,
/// annex K). JPEG has full range; the frames have limited range like every `VideoFrame`.
package final class MJPEGDecoder {
    private let codec: UnsafePointer<AVCodec>
    private var context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let frame = AVFrameHolder()
    private let converter: RawFrameConverter
    /// The converter for 4:4:4, gray and other rare formats.
    private let scaler = FrameConverter()

    /// Opens the decoder.
    ///
    /// - Parameter pool: The pool for the frames' memory; nil for a pool of its own.
    /// - Throws: `CodecError.missing` if FFmpeg has no JPEG decoder.
    package init(pool: VideoFramePool? = nil) throws(CodecError) {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_MJPEG) else { throw .missing("a decoder of JPEG") }
        self.codec = codec
        context = try Self.open(codec)
        converter = RawFrameConverter(pool: pool)
    }

    private static func open(_ codec: UnsafePointer<AVCodec>) throws(CodecError) -> AVCodecContextHolder {
        let context = AVCodecContextHolder(codec)
        context.pointer.pointee.thread_count = 1
        context.pointer.pointee.err_recognition = AV_EF_EXPLODE
        try context.open(codec)
        return context
    }

    /// Decodes an image. An odd last column or row is cropped.
    ///
    /// - Parameters:
    ///   - bytes: One image from its first marker on. Bytes after its end are ignored, because cameras add padding.
    ///   - captureTime: The capture time; nil if it is unknown.
    ///   - timestamp: The timestamp of the frame.
    /// - Returns: The frame.
    /// - Throws: `CodecError.damaged` for an image that is truncated or invalid, and `CodecError.failed` if there is not
    ///   enough memory. The next image is decoded independently.
    package func decode(
        _ bytes: UnsafeRawBufferPointer, captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let bytes = try Self.whole(bytes)
        do {
            try read(bytes)
        } catch {
            // Invalid Huffman tables must not be applied to the next image without tables.
            context = try Self.open(codec)
            throw error
        }
        defer { av_frame_unref(frame.pointer) }
        return try convert(captureTime: captureTime, timestamp: timestamp)
    }

    /// Returns the bytes from the start marker to the end marker. Without an end marker, the last rows are missing: no
    /// marker can occur within entropy-coded data (ITU-T T.81, section B.1.1.5).
    private static func whole(_ bytes: UnsafeRawBufferPointer) throws(CodecError) -> UnsafeRawBufferPointer {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else {
            throw .damaged("a JPEG frame without a start marker")
        }
        var end = bytes.count - 2
        while end >= 2 {
            if bytes[end] == 0xFF, bytes[end + 1] == 0xD9 {
                return UnsafeRawBufferPointer(rebasing: bytes[..<(end + 2)])
            }
            end -= 1
        }
        throw .damaged("a JPEG frame without an end marker")
    }

    /// Decodes the bytes to `frame`.
    private func read(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        // libavcodec reads beyond the end, so the bytes are copied to padded memory.
        let allocated = av_new_packet(packet.pointer, Int32(clamping: bytes.count))
        guard allocated >= 0 else { throw .failed("decoding a JPEG frame", reason: CodecError.reason(allocated)) }
        defer { av_packet_unref(packet.pointer) }
        UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(from: bytes)
        packet.pointer.pointee.pts = 0
        let sent = avcodec_send_packet(context.pointer, packet.pointer)
        guard sent >= 0 else { throw .damaged("a JPEG frame: \(CodecError.reason(sent))") }
        let received = avcodec_receive_frame(context.pointer, frame.pointer)
        guard received >= 0 else { throw .damaged("a JPEG frame: \(CodecError.reason(received))") }
        guard frame.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0,
            frame.pointer.pointee.decode_error_flags == 0
        else {
            av_frame_unref(frame.pointer)
            throw .damaged("a JPEG frame with errors")
        }
    }

    private func convert(captureTime: WallTime?, timestamp: MediaTime) throws(CodecError) -> VideoFrame {
        let image = frame.pointer.pointee
        let dimensions = Dimensions(width: Int(image.width) & ~1, height: Int(image.height) & ~1)
        guard dimensions.width > 0, dimensions.height > 0 else {
            throw .damaged("a JPEG frame of \(image.width)x\(image.height)")
        }
        let format: RawPixelFormat? =
            switch AVPixelFormat(image.format) {
            case AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P: .i420
            case AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P: .i422
            default: nil
            }
        guard let format, let first = image.data.0, let second = image.data.1, let third = image.data.2 else {
            return try scaler.convert(frame.pointer, captureTime: captureTime, timestamp: timestamp)
        }
        let source = RawFrame(
            format: format, first: first, second: second, third: third, stride: image.linesize.0,
            chromaStride: image.linesize.1)
        return try converter.convert(
            source, dimensions: dimensions, isFullRange: image.color_range != AVCOL_RANGE_MPEG,
            captureTime: captureTime, timestamp: timestamp)
    }
}
