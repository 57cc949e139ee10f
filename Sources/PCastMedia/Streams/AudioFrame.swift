/// Decoded sound: signed 16-bit samples at 48 kHz, channels interleaved.
public struct AudioFrame: Sendable {
    /// Interleaved; `samples.count` is a multiple of `channels`.
    public var samples: [Int16]

    /// 1 or 2.
    public var channels: Int

    /// When the first sample was captured, UTC; nil when nobody knows.
    public var captureTime: WallTime?

    /// The first sample's moment in the track.
    public var timestamp: MediaTime

    public static let sampleRate = 48_000

    public init(samples: [Int16], channels: Int, captureTime: WallTime?, timestamp: MediaTime) {
        precondition(channels == 1 || channels == 2)
        self.samples = samples
        self.channels = channels
        self.captureTime = captureTime
        self.timestamp = timestamp
    }

    /// Samples a channel.
    public var sampleCount: Int { samples.count / channels }

    public var length: TimeSpan { ClockRate.opus.span(ofTicks: Int64(sampleCount)) }
}
