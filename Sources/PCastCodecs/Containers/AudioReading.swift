import CFFmpeg
import PCastCore

/// Converts the decoded audio of a file to stereo at 48 kHz, with contiguous timestamps.
struct AudioReading {
    static let channels = 2

    private let resampler = AudioResampler(channels: AudioReading.channels)
    private var next: Int64?

    /// The largest difference, in samples (50 ms), between a timestamp and the sample count that counts as rounding.
    private static let tolerance: Int64 = 2_400

    /// Converts decoded audio. Returns nil if the resampler has no output yet. Throws `CodecError` if the audio cannot
    /// be converted. The moment is in microseconds since the start; nil if the audio has no timestamp.
    mutating func take(_ audio: UnsafeMutablePointer<AVFrame>, moment: Int64?) throws(CodecError) -> AudioFrame? {
        let samples = try resampler.resample(audio)
        guard !samples.isEmpty else { return nil }
        let ticks = moment.map { ClockRate.opus.ticks(in: .microseconds($0)) }
        // The sample count is more accurate than rounded timestamps, as long as both agree.
        var start = ticks ?? next ?? 0
        if let next, let ticks, abs(ticks - next) < Self.tolerance { start = next }
        next = start + Int64(samples.count / Self.channels)
        return AudioFrame(
            samples: samples, channels: Self.channels, captureTime: nil,
            timestamp: MediaTime(ticks: start, rate: .opus))
    }
}
