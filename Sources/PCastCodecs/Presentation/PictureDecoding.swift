import CFFmpeg
import PCastMedia

/// Decodes the pictures of a presentation from a position on: first the one that is seen there, which may have begun before.
final class PictureDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private let converter: PictureConverter
    private let frame = AVFrameHolder()
    /// Where nothing is shown before.
    private var beginning: TimeSpan
    /// What lay before it last, and its duration.
    private let held = AVFrameHolder()
    private var isHolding = false
    private var passedOver = 0
    private var needsKeyFrame = true
    /// Where nothing begins at the beginning, what lay before it is given out: unless that was shown already.
    private var showsWhatStands = true
    /// The end of the last picture, for those that say no time.
    private var end: TimeSpan

    /// Times are rounded by containers, 90 kHz the least.
    private static let tolerance = TimeSpan.milliseconds(1)
    /// From here to the position each picture is decoded, as one of them may be the last that there is.
    private static let margin = TimeSpan.milliseconds(200)
    /// Streams that refresh bit by bit say nothing of key frames; pictures that are waited for.
    private static let patience = 300

    /// - Returns: nil where nothing decodes it.
    init?(_ format: CodedFormat, converter: PictureConverter, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder, self.converter) = (format, decoder, converter)
        (self.beginning, end) = (beginning, beginning)
    }

    /// Forgets what is inside; the next packet is a key frame.
    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        release()
        (beginning, end, needsKeyFrame, passedOver) = (position, position, true, 0)
        showsWhatStands = true
    }

    /// Forgets what is inside, as the same pictures come again from a key frame on; those up to one that was given out are not
    /// given out once more.
    func begin(behind picture: TimeSpan) {
        begin(at: picture + Self.tolerance * 2)
        showsWhatStands = false
    }

    private func release() {
        av_frame_unref(held.pointer)
        isHolding = false
    }

    /// Nothing before the position is shown any more; what is inside is.
    func skip(to position: TimeSpan) { (beginning, showsWhatStands) = (position, true) }

    /// - Parameter packet: nil gives out what is inside.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, into samples: inout [PresentationSample]
    ) throws(CodecError) {
        if let packet {
            if needsKeyFrame, packet.pointee.flags & AV_PKT_FLAG_KEY == 0, passedOver < Self.patience {
                passedOver += 1
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
        // A damaged packet is passed over: files have them, and the next is often whole.
        try receive(&samples)
    }

    private func isBefore(_ position: TimeSpan) -> Bool { position + Self.tolerance < beginning }

    private func receive(_ samples: inout [PresentationSample]) throws(CodecError) {
        while avcodec_receive_frame(decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            guard frame.pointer.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0 else { continue }
            let told = frame.pointer.pointee.best_effort_timestamp
            let start = told == cffmpeg_no_timestamp() ? end : TimeSpan.microseconds(told)
            end = start + (Self.duration(of: frame.pointer) ?? .zero)
            if isBefore(start) {
                release()
                guard showsWhatStands else { continue }
                av_frame_move_ref(held.pointer, frame.pointer)
                isHolding = true
            } else {
                if isHolding, start > beginning + Self.tolerance { try giveHeld(until: start, &samples) }
                release()
                samples.append(try sample(frame.pointer, at: max(start, beginning)))
            }
        }
    }

    /// At the end: where nothing begins behind the position, what was before it is what is seen there.
    func giveHeld(_ samples: inout [PresentationSample]) throws(CodecError) {
        guard isHolding else { return }
        samples.append(
            try sample(held.pointer, at: .microseconds(held.pointer.pointee.best_effort_timestamp)))
        release()
    }

    /// Where the next picture begins behind the position: the one before it is still seen there.
    private func giveHeld(until next: TimeSpan, _ samples: inout [PresentationSample]) throws(CodecError) {
        held.pointer.pointee.pkt_duration = (next - beginning).nanoseconds / 1_000
        samples.append(try sample(held.pointer, at: beginning))
    }

    private func sample(
        _ picture: UnsafeMutablePointer<AVFrame>, at position: TimeSpan
    ) throws(CodecError) -> PresentationSample {
        let timestamp = MediaTime(ticks: ClockRate.video.ticks(in: position), rate: .video)
        let converted = try converter.convert(
            picture, geometry: format.geometry, captureTime: nil, timestamp: timestamp)
        return .picture(converted, at: position, duration: Self.duration(of: picture))
    }

    private static func duration(of picture: UnsafeMutablePointer<AVFrame>) -> TimeSpan? {
        picture.pointee.pkt_duration > 0 ? .microseconds(picture.pointee.pkt_duration) : nil
    }
}
