import CFFmpeg
import PCastCore

/// Decodes the video of a presentation from a position on. The first frame is the one that is visible at the position,
/// which may start before it.
final class FrameDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private let converter: FrameConverter
    private let frame = AVFrameHolder()
    /// The position before which no frame is returned.
    private var beginning: TimeSpan
    /// The last frame before the position. Its `pkt_duration` is its duration.
    private let held = AVFrameHolder()
    private var isHolding = false
    private var skippedCount = 0
    private var needsKeyFrame = true
    /// Whether the frame before the position is returned if none starts at the position. It is false if that frame was
    /// already shown.
    private var returnsPrecedingFrame = true
    /// The end of the last frame, as the start of a frame without a timestamp.
    private var end: TimeSpan

    /// The tolerance for rounded timestamps; containers have at least 90 kHz or 1 ms.
    private static let tolerance = TimeSpan.milliseconds(1)
    /// The time before the position from which every frame is decoded, because one of them may be the last frame of the
    /// file.
    private static let margin = TimeSpan.milliseconds(200)
    /// The most frames to skip in search of a key frame. Streams with gradual refresh have none.
    private static let timeout = 300

    /// Opens the decoder. Returns nil if the format has none.
    init?(_ format: CodedFormat, converter: FrameConverter, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder, self.converter) = (format, decoder, converter)
        (self.beginning, end) = (beginning, beginning)
    }

    /// Discards the decoder's content. The next packet is a key frame.
    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        release()
        (beginning, end, needsKeyFrame, skippedCount) = (position, position, true, 0)
        returnsPrecedingFrame = true
    }

    /// Discards the decoder's content before the same frames are decoded again from a key frame on. Frames up to
    /// `frame` are not returned again.
    func begin(behind frame: TimeSpan) {
        begin(at: frame + Self.tolerance * 2)
        returnsPrecedingFrame = false
    }

    private func release() {
        av_frame_unref(held.pointer)
        isHolding = false
    }

    /// Returns no more frames before the position, but keeps the decoder's content.
    func skip(to position: TimeSpan) { (beginning, returnsPrecedingFrame) = (position, true) }

    /// Decodes a packet and adds the resulting frames; nil drains the decoder. Throws `CodecError` if a frame cannot be
    /// converted.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, into samples: inout [PresentationSample]
    ) throws(CodecError) {
        if let packet {
            if needsKeyFrame, packet.pointee.flags & AV_PKT_FLAG_KEY == 0, skippedCount < Self.timeout {
                skippedCount += 1
                return
            }
            needsKeyFrame = false
            let pts = packet.pointee.pts
            let isEarly = pts != cffmpeg_no_timestamp() && isBefore(.microseconds(pts) + Self.margin)
            decoder.pointer.pointee.skip_frame = isEarly ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
        }
        var result = avcodec_send_packet(decoder.pointer, packet)
        if result == cffmpeg_error_again() {
            try receive(&samples)
            result = avcodec_send_packet(decoder.pointer, packet)
        }
        // The result is ignored: a file may contain damaged packets, and the next one is often valid.
        try receive(&samples)
    }

    private func isBefore(_ position: TimeSpan) -> Bool { position + Self.tolerance < beginning }

    private func receive(_ samples: inout [PresentationSample]) throws(CodecError) {
        while avcodec_receive_frame(decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            guard frame.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0 else { continue }
            let timestamp = frame.pointer.pointee.best_effort_timestamp
            let start = timestamp == cffmpeg_no_timestamp() ? end : TimeSpan.microseconds(timestamp)
            end = start + (Self.duration(of: frame.pointer) ?? .zero)
            if isBefore(start) {
                release()
                guard returnsPrecedingFrame else { continue }
                av_frame_move_ref(held.pointer, frame.pointer)
                isHolding = true
            } else {
                if isHolding, start > beginning + Self.tolerance { try giveHeld(until: start, &samples) }
                release()
                samples.append(try sample(frame.pointer, at: max(start, beginning)))
            }
        }
    }

    /// At the end, returns the last frame before the position, which remains visible there.
    func giveHeld(_ samples: inout [PresentationSample]) throws(CodecError) {
        guard isHolding else { return }
        samples.append(
            try sample(held.pointer, at: .microseconds(held.pointer.pointee.best_effort_timestamp)))
        release()
    }

    /// Returns the last frame before the position, with the duration until the next one, because it is visible at the
    /// position.
    private func giveHeld(until next: TimeSpan, _ samples: inout [PresentationSample]) throws(CodecError) {
        held.pointer.pointee.pkt_duration = (next - beginning).nanoseconds / 1_000
        samples.append(try sample(held.pointer, at: beginning))
    }

    private func sample(
        _ frame: UnsafeMutablePointer<AVFrame>, at position: TimeSpan
    ) throws(CodecError) -> PresentationSample {
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: position), rate: .video)
        let converted = try converter.convert(
            frame, geometry: format.geometry, captureTime: nil, timestamp: timestamp)
        return .frame(converted, at: position, duration: Self.duration(of: frame))
    }

    private static func duration(of frame: UnsafeMutablePointer<AVFrame>) -> TimeSpan? {
        frame.pointee.pkt_duration > 0 ? .microseconds(frame.pointee.pkt_duration) : nil
    }
}
