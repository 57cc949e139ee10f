import CFFmpeg
package import PCastCore

/// A video decoder of libavcodec with one thread and without delay. It returns no damaged frames: a viewer accepts a
/// short freeze more easily than broken images.
final class AVVideoDecoder: VideoDecoder {
    private let codec: UnsafePointer<AVCodec>
    private var context: AVCodecContextHolder
    private let packet = AVPacketHolder()
    private let frame = AVFrameHolder()
    /// The last frame that was received, and is not presented yet.
    private let last = AVFrameHolder()
    private let converter = FrameConverter()
    private var pending: [Int64: EncodedFrame] = [:]
    private var next: Int64 = 0

    /// Whether a key frame is required, at the start and after damage. Frames that refer to missing ones would be
    /// damaged, too.
    private var needsKeyFrame = true

    /// The bound of `pending`. Frames beyond it gave no output and are dropped.
    private static let pendingLimit = 16

    /// Opens a decoder: one with a name if FFmpeg has it, otherwise the one that FFmpeg prefers.
    init(_ id: AVCodecID, name: String, preferring library: String? = nil) throws(CodecError) {
        guard let codec = library.flatMap({ avcodec_find_decoder_by_name($0) }) ?? avcodec_find_decoder(id) else {
            throw .missing("a decoder of \(name)")
        }
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
        var frames: [VideoFrame] = []
        try process(frame) { picture, source throws(CodecError) in
            frames.append(
                try converter.convert(picture, captureTime: source.captureTime, timestamp: source.timestamp))
        }
        return frames
    }

    func skip(_ frame: EncodedFrame) throws(CodecError) -> [MediaTime] {
        var times: [MediaTime] = []
        try process(frame) { _, source in times.append(source.timestamp) }
        return times
    }

    /// Decodes a frame, and calls `take` with each decoded picture and the frame that it was encoded as.
    private func process(
        _ frame: EncodedFrame, _ take: (UnsafeMutablePointer<AVFrame>, EncodedFrame) throws(CodecError) -> Void
    ) throws(CodecError) {
        if needsKeyFrame {
            guard frame.isKeyFrame else { throw .damaged("a key frame is required first") }
            // Reopens the decoder: libavcodec's H.264 decoder, if flushed after an incomplete slice, draws parts of the
            // lost frame into the next one.
            if next > 0 { context = try Self.open(codec) }
            pending.removeAll()
        }
        needsKeyFrame = true
        try run(frame, take)
        needsKeyFrame = false
    }

    private func run(
        _ frame: EncodedFrame, _ take: (UnsafeMutablePointer<AVFrame>, EncodedFrame) throws(CodecError) -> Void
    ) throws(CodecError) {
        if pending.count >= Self.pendingLimit { pending.removeAll() }
        pending[next] = frame
        // libavcodec reads beyond the end, so the bytes are copied to padded memory.
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
        try takeFrames(take)
    }

    /// Takes the decoded frames. Those with the same timestamp are the spatial layers of one superframe of VP9, of which the
    /// last one is the highest, and the others are not for presentation.
    private func takeFrames(
        _ take: (UnsafeMutablePointer<AVFrame>, EncodedFrame) throws(CodecError) -> Void
    ) throws(CodecError) {
        defer { av_frame_unref(last.pointer) }
        var timestamp: Int64?
        while try receive() {
            if let timestamp, timestamp != frame.pointer.pointee.pts { try present(take) }
            timestamp = frame.pointer.pointee.pts
            av_frame_unref(last.pointer)
            av_frame_move_ref(last.pointer, frame.pointer)
        }
        if timestamp != nil { try present(take) }
    }

    /// Receives the next decoded frame. Returns false if there is none.
    private func receive() throws(CodecError) -> Bool {
        let result = avcodec_receive_frame(context.pointer, frame.pointer)
        if result == cffmpeg_error_again() || result == cffmpeg_error_end_of_file() { return false }
        guard result >= 0 else { throw .damaged(CodecError.reason(result)) }
        guard frame.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0,
            frame.pointer.pointee.decode_error_flags == 0
        else {
            av_frame_unref(frame.pointer)
            throw .damaged("a frame with errors")
        }
        return true
    }

    private func present(
        _ take: (UnsafeMutablePointer<AVFrame>, EncodedFrame) throws(CodecError) -> Void
    ) throws(CodecError) {
        guard let source = pending.removeValue(forKey: last.pointer.pointee.pts) else { return }
        try take(last.pointer, source)
    }
}

/// A decoder of H.264 in Annex B.
package final class H264Decoder: VideoDecoder {
    private let decoder: AVVideoDecoder

    /// Opens the decoder. Throws `CodecError.missing` if FFmpeg has none.
    package init() throws(CodecError) { decoder = try AVVideoDecoder(AV_CODEC_ID_H264, name: "H.264") }

    /// Decodes a frame. Throws `CodecError.damaged`, also for every frame before the next key frame.
    package func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] { try decoder.decode(frame) }

    /// Decodes a frame without its image. Throws as ``decode(_:)`` does.
    package func skip(_ frame: EncodedFrame) throws(CodecError) -> [MediaTime] { try decoder.skip(frame) }
}

/// A decoder of VP8.
package final class VP8Decoder: VideoDecoder {
    private let decoder: AVVideoDecoder

    /// Opens the decoder. Throws `CodecError.missing` if FFmpeg has none.
    package init() throws(CodecError) { decoder = try AVVideoDecoder(AV_CODEC_ID_VP8, name: "VP8") }

    /// Decodes a frame. Throws `CodecError.damaged`, also for every frame before the next key frame.
    package func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame] { try decoder.decode(frame) }

    /// Decodes a frame without its image. Throws as ``decode(_:)`` does.
    package func skip(_ frame: EncodedFrame) throws(CodecError) -> [MediaTime] { try decoder.skip(frame) }
}

/// The video decoders of this machine.
package enum VideoDecoders {
    /// Opens the decoder of a codec. Throws `CodecError.missing` if FFmpeg has none, and `CodecError.unsupported` for
    /// audio.
    package static func open(_ codec: Codec) throws(CodecError) -> any VideoDecoder {
        switch codec {
        case .h264: try H264Decoder()
        case .vp8: try VP8Decoder()
        case .vp9: try AVVideoDecoder(AV_CODEC_ID_VP9, name: "VP9")
        // FFmpeg's own decoder of AV1 needs a graphics processor.
        case .av1: try AVVideoDecoder(AV_CODEC_ID_AV1, name: "AV1", preferring: "libdav1d")
        case .h265: try AVVideoDecoder(AV_CODEC_ID_HEVC, name: "H.265")
        case .opus: throw .unsupported("Opus is not a video codec")
        }
    }
}

/// A video decoder without delay.
///
/// Only one thread may use it at a time. Frames come in decoding order without gaps; a gap must be followed by a key
/// frame.
package protocol VideoDecoder: AnyObject {
    /// Decodes a frame. Returns no frame if it is not for presentation. Throws `CodecError.damaged`, also for every
    /// frame before the next key frame.
    func decode(_ frame: EncodedFrame) throws(CodecError) -> [VideoFrame]

    /// Decodes a frame that later ones refer to, and whose image is not needed, so that it is not converted. Returns the
    /// timestamps of the images, in their order. Throws as ``decode(_:)`` does.
    func skip(_ frame: EncodedFrame) throws(CodecError) -> [MediaTime]
}
