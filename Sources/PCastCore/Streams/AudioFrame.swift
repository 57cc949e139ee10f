/// Decoded audio: signed 16-bit samples at 48 kHz with interleaved channels.
public struct AudioFrame: Sendable {
    /// The interleaved samples. The count is a multiple of `channels`.
    public var samples: [Int16]

    /// The number of channels, 1 or 2.
    public var channels: Int

    /// The UTC time at which the first sample was captured; nil if unknown.
    public var captureTime: WallTime?

    /// The time of the first sample in the track.
    public var timestamp: MediaTime

    /// The sample rate in hertz.
    public static let sampleRate = 48_000

    /// Creates a frame. Traps if `channels` is neither 1 nor 2.
    public init(samples: [Int16], channels: Int, captureTime: WallTime?, timestamp: MediaTime) {
        precondition(channels == 1 || channels == 2)
        self.samples = samples
        self.channels = channels
        self.captureTime = captureTime
        self.timestamp = timestamp
    }

    /// The number of samples per channel.
    public var sampleCount: Int { samples.count / channels }

    /// The duration of the frame.
    public var duration: Duration { length.duration }

    /// The duration of the frame.
    package var length: TimeSpan { ClockRate.opus.span(ofTicks: Int64(sampleCount)) }
}
