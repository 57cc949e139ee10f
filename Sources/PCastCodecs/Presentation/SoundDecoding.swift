import CFFmpeg
import PCastMedia

/// Decodes the sound of a presentation, from a position on to the sample.
final class SoundDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private let frame = AVFrameHolder()
    private var reading = SoundReading()
    private var beginning: Int64

    /// - Returns: nil where nothing decodes it.
    init?(_ format: CodedFormat, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder) = (format, decoder)
        self.beginning = ClockRate.opus.ticks(in: beginning)
    }

    /// Forgets what is inside.
    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        reading = SoundReading()
        beginning = ClockRate.opus.ticks(in: position)
    }

    /// Nothing before the position is heard any more; what is inside is.
    func skip(to position: TimeSpan) { beginning = ClockRate.opus.ticks(in: position) }

    /// - Parameter packet: nil gives out what is inside.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, into samples: inout [PresentationSample]
    ) throws(CodecError) {
        guard avcodec_send_packet(decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            let told = frame.pointer.pointee.best_effort_timestamp
            let moment = told == cffmpeg_no_timestamp() ? nil : told
            guard let sound = try reading.take(frame.pointer, moment: moment), let rest = trimmed(sound)
            else {
                continue
            }
            samples.append(.sound(rest, at: rest.timestamp.span))
        }
    }

    /// What of it lies behind the beginning; nil for nothing.
    private func trimmed(_ sound: AudioFrame) -> AudioFrame? {
        let early = beginning - sound.timestamp.ticks
        guard early > 0 else { return sound }
        guard early < sound.sampleCount else { return nil }
        return AudioFrame(
            samples: Array(sound.samples.dropFirst(Int(early) * sound.channels)),
            channels: sound.channels,
            captureTime: nil, timestamp: MediaTime(ticks: beginning, rate: .opus))
    }
}
