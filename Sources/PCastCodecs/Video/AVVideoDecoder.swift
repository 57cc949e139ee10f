import CFFmpeg
public import PCastMedia

/// A decoder of libavcodec on one thread, without delay; damaged pictures are not shown (JB8).
final class AVVideoDecoder {
    private let codec: UnsafePointer<AVCodec>
    private var context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let picture = AVFrameHolder()
    private let converter = PictureConverter()
    private var pending: [Int64: EncodedFrame] = [:]
    private var next: Int64 = 0

    /// At the beginning and after damage: what refers to missing pictures would come out torn, and be shown.
    private var needsKeyFrame = true

    /// Frames inside; more have vanished without a picture, and are forgotten.
    private static let pendingLimit = 16

    init(_ id: AVCodecID, name: String) throws(CodecError) {
        guard let codec = avcodec_find_decoder(id) else { throw .missing("a decoder of \(name)") }
        self.codec = codec
        context = try Self.open(codec)
    }

    private static func open(_ codec: UnsafePointer<AVCodec>) throws(CodecError) -> AVCodecContextHolder {
        let context = AVCodecContextHolder(codec)
        context.pointer.pointee.thread_count = 1
        context.pointer.pointee.flags |= AV_CODEC_FLAG_LOW_DELAY
        context.pointer.pointee.err_recognition = AV_EF_EXPLODE
        try context.open(codec)
        return context
    }

    func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] {
        if needsKeyFrame {
            guard frame.isKeyFrame else { throw .damaged("a key frame is needed first") }
            // Anew, as libavcodec's H.264 decoder, flushed after a slice that it gave up in, draws parts of the lost
            // picture into the next.
            if next > 0 { context = try Self.open(codec) }
            pending.removeAll()
        }
        needsKeyFrame = true
        let pictures = try run(frame)
        needsKeyFrame = false
        return pictures
    }

    private func run(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] {
        var pictures: [VideoFrame] = []
        if pending.count >= Self.pendingLimit { pending.removeAll() }
        pending[next] = frame
        // libavcodec reads a little beyond the end, so the bytes are copied into padded memory.
        let result = av_new_packet(packet.pointer, Int32(frame.bytes.count))
        guard result >= 0 else { throw .failed("decoding", reason: CodecError.reason(result)) }
        frame.bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(
                from: bytes)
        }
        packet.pointer.pointee.pts = next
        next += 1
        defer { av_packet_unref(packet.pointer) }
        let sent = avcodec_send_packet(context.pointer, packet.pointer)
        guard sent >= 0 else { throw .damaged(CodecError.reason(sent)) }
        while try receive(&pictures) {}
        return pictures
    }

    private func receive(_ pictures: inout [VideoFrame]) throws(CodecError) -> Bool {
        let result = avcodec_receive_frame(context.pointer, picture.pointer)
        if result == cffmpeg_error_again() || result == cffmpeg_error_end_of_file() { return false }
        guard result >= 0 else { throw .damaged(CodecError.reason(result)) }
        defer { av_frame_unref(picture.pointer) }
        guard picture.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0,
            picture.pointer.pointee.decode_error_flags == 0
        else { throw .damaged("a picture with errors") }
        guard let source = pending.removeValue(forKey: picture.pointer.pointee.pts) else { return true }
        pictures.append(
            try converter.convert(picture.pointer, captureTime: source.captureTime, timestamp: source.timestamp))
        return true
    }
}

/// H.264 in Annex B.
public final class H264Decoder: VideoDecoder {
    private let decoder: AVVideoDecoder

    /// - Throws: `CodecError.missing`.
    public init() throws(CodecError) { decoder = try AVVideoDecoder(AV_CODEC_ID_H264, name: "H.264") }

    public func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] { try decoder.decode(frame) }
}

/// VP8.
public final class VP8Decoder: VideoDecoder {
    private let decoder: AVVideoDecoder

    /// - Throws: `CodecError.missing`.
    public init() throws(CodecError) { decoder = try AVVideoDecoder(AV_CODEC_ID_VP8, name: "VP8") }

    public func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] { try decoder.decode(frame) }
}
