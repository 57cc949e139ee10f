import CFFmpeg
public import PCastMedia

/// Decodes the JPEG pictures of cameras, on one thread. Used by one thread at a time.
///
/// Pictures without Huffman tables, as most cameras send them, are read with the tables of the standard (ITU-T T.81,
/// annex K). JPEG is of full range; what comes out is of limited range, as `VideoFrame` says (COD6).
public final class MJPEGDecoder {
    private let codec: UnsafePointer<AVCodec>
    private var context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let picture = AVFrameHolder()
    private let converter: RawPictureConverter
    /// For 4:4:4, grey, and what else cameras hardly send.
    private let scaler = PictureConverter()

    /// - Parameter pool: where the pictures' memory comes from; nil for one of its own.
    /// - Throws: `CodecError.missing`.
    public init(pool: VideoFramePool? = nil) throws(CodecError) {
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_MJPEG) else { throw .missing("a decoder of JPEG") }
        self.codec = codec
        context = try Self.open(codec)
        converter = RawPictureConverter(pool: pool)
    }

    private static func open(_ codec: UnsafePointer<AVCodec>) throws(CodecError) -> AVCodecContextHolder {
        let context = AVCodecContextHolder(codec)
        context.pointer.pointee.thread_count = 1
        context.pointer.pointee.err_recognition = AV_EF_EXPLODE
        try context.open(codec)
        return context
    }

    /// - Parameter bytes: one picture, from its first marker on; what follows its end is passed over, as cameras pad.
    /// - Returns: the picture, an odd last column or row left out.
    /// - Throws: `CodecError.damaged` for a picture that is cut short or broken. The next is decoded as if it were the
    ///   first.
    public func decode(
        _ bytes: UnsafeRawBufferPointer, captureTime: WallTime?, timestamp: MediaTime
    ) throws(CodecError) -> VideoFrame {
        let bytes = try Self.whole(bytes)
        do {
            try read(bytes)
        } catch {
            // Tables that came damaged must not serve a picture that has none.
            context = try Self.open(codec)
            throw error
        }
        defer { av_frame_unref(picture.pointer) }
        return try convert(captureTime: captureTime, timestamp: timestamp)
    }

    /// From the marker of the beginning to that of the end, without which the last rows are missing: within coded
    /// pixels no such marker can stand (ITU-T T.81, section B.1.1.5).
    private static func whole(_ bytes: UnsafeRawBufferPointer) throws(CodecError) -> UnsafeRawBufferPointer {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else {
            throw .damaged("a JPEG picture without its beginning")
        }
        var end = bytes.count - 2
        while end >= 2 {
            if bytes[end] == 0xFF, bytes[end + 1] == 0xD9 {
                return UnsafeRawBufferPointer(rebasing: bytes[..<(end + 2)])
            }
            end -= 1
        }
        throw .damaged("a JPEG picture without its end")
    }

    /// Leaves the picture in `picture`.
    private func read(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        // libavcodec reads a little beyond the end, so the bytes are copied into padded memory.
        let allocated = av_new_packet(packet.pointer, Int32(clamping: bytes.count))
        guard allocated >= 0 else { throw .damaged("a JPEG picture of \(bytes.count) bytes") }
        defer { av_packet_unref(packet.pointer) }
        UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(from: bytes)
        packet.pointer.pointee.pts = 0
        let sent = avcodec_send_packet(context.pointer, packet.pointer)
        guard sent >= 0 else { throw .damaged("a JPEG picture: \(CodecError.reason(sent))") }
        let received = avcodec_receive_frame(context.pointer, picture.pointer)
        guard received >= 0 else { throw .damaged("a JPEG picture: \(CodecError.reason(received))") }
        guard picture.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0,
            picture.pointer.pointee.decode_error_flags == 0
        else {
            av_frame_unref(picture.pointer)
            throw .damaged("a JPEG picture with errors")
        }
    }

    private func convert(captureTime: WallTime?, timestamp: MediaTime) throws(CodecError) -> VideoFrame {
        let image = picture.pointer.pointee
        let dimensions = Dimensions(width: Int(image.width) & ~1, height: Int(image.height) & ~1)
        guard dimensions.width > 0, dimensions.height > 0 else {
            throw .damaged("a JPEG picture of \(image.width)x\(image.height)")
        }
        let format: RawPixelFormat? =
            switch AVPixelFormat(image.format) {
            case AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P: .i420
            case AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P: .i422
            default: nil
            }
        guard let format, let first = image.data.0, let second = image.data.1, let third = image.data.2 else {
            return try scaler.convert(picture.pointer, captureTime: captureTime, timestamp: timestamp)
        }
        let source = RawPicture(
            format: format, first: first, second: second, third: third, stride: image.linesize.0,
            chromaStride: image.linesize.1)
        return try converter.convert(
            source, dimensions: dimensions, isFullRange: image.color_range != AVCOL_RANGE_MPEG,
            captureTime: captureTime, timestamp: timestamp)
    }
}
