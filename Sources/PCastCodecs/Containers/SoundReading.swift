import CFFmpeg
import PCastMedia

/// A file's decoded sound, brought to ours in two channels, each piece where the last ended.
struct SoundReading {
    static let channels = 2

    private let resampler = AudioResampler(channels: SoundReading.channels)
    private var next: Int64?

    /// Timestamps that differ by less from the count of samples are only rounded: 50 ms.
    private static let tolerance: Int64 = 2_400

    /// - Parameter moment: microseconds since the beginning; nil when the sound does not say.
    /// - Returns: nil when nothing comes out yet.
    mutating func take(_ sound: UnsafeMutablePointer<AVFrame>, moment: Int64?) throws(CodecError) -> AudioFrame? {
        let samples = try resampler.resample(sound)
        guard !samples.isEmpty else { return nil }
        let told = moment.map { ClockRate.opus.ticks(in: .microseconds($0)) }
        // Counted samples are truer than rounded timestamps, as long as the two agree.
        var start = told ?? next ?? 0
        if let next, let told, abs(told - next) < Self.tolerance { start = next }
        next = start + Int64(samples.count / Self.channels)
        return AudioFrame(
            samples: samples, channels: Self.channels, captureTime: nil,
            timestamp: MediaTime(ticks: start, rate: .opus))
    }
}
