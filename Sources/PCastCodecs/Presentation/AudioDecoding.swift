import CFFmpeg
import PCastCore

/// Decodes the audio of a presentation from an exact sample on.
final class AudioDecoding {
    let format: CodedFormat
    private let decoder: AVCodecContextHolder
    private let frame = AVFrameHolder()
    private var reading = AudioReading()
    private var beginning: Int64

    /// Opens the decoder. Returns nil if the format has none.
    init?(_ format: CodedFormat, beginning: TimeSpan) throws(CodecError) {
        guard let decoder = try format.decoder() else { return nil }
        (self.format, self.decoder) = (format, decoder)
        self.beginning = ClockRate.opus.ticks(in: beginning)
    }

    /// Discards the decoder's content.
    func begin(at position: TimeSpan) {
        avcodec_flush_buffers(decoder.pointer)
        reading = AudioReading()
        beginning = ClockRate.opus.ticks(in: position)
    }

    /// Returns no more audio before the position, but keeps the decoder's content.
    func skip(to position: TimeSpan) { beginning = ClockRate.opus.ticks(in: position) }

    /// Decodes a packet and adds the resulting audio; nil drains the decoder. Throws `CodecError` if the audio cannot
    /// be converted.
    func decode(
        _ packet: UnsafeMutablePointer<AVPacket>?, into samples: inout [PresentationSample]
    ) throws(CodecError) {
        guard avcodec_send_packet(decoder.pointer, packet) >= 0 else { return }
        while avcodec_receive_frame(decoder.pointer, frame.pointer) >= 0 {
            defer { av_frame_unref(frame.pointer) }
            let timestamp = frame.pointer.pointee.best_effort_timestamp
            let moment = timestamp == cffmpeg_no_timestamp() ? nil : timestamp
            guard let audio = try reading.take(frame.pointer, moment: moment), let rest = trimmed(audio)
            else {
                continue
            }
            samples.append(.audio(rest, at: rest.timestamp.span))
        }
    }

    /// Returns the part of the audio after the start position; nil if there is none.
    private func trimmed(_ audio: AudioFrame) -> AudioFrame? {
        let early = beginning - audio.timestamp.ticks
        guard early > 0 else { return audio }
        guard early < audio.sampleCount else { return nil }
        return AudioFrame(
            samples: Array(audio.samples.dropFirst(Int(early) * audio.channels)),
            channels: audio.channels,
            captureTime: nil, timestamp: MediaTime(ticks: beginning, rate: .opus))
    }
}
