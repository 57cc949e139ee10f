public import PCastMedia

/// Cuts sound into packets of 20 ms, and brings it to the asked number of channels.
public struct AudioFramer {
    /// Samples a channel in a packet.
    public static let packetSamples = 960

    private let channels: Int
    private var samples: [Int16] = []
    /// Of the first sample that waits.
    private var timestamp: MediaTime?
    private var captureTime: WallTime?

    /// Sound that does not follow on what waits, by more than this, begins a new packet.
    private static let tolerance: Int64 = 48 * 5

    public init(channels: Int) { self.channels = channels }

    /// The packets that became full.
    public mutating func append(_ frame: AudioFrame) -> [AudioFrame] {
        let waiting = Int64(samples.count / channels)
        if let timestamp, abs(timestamp.ticks + waiting - frame.timestamp.ticks) > Self.tolerance { samples = [] }
        if samples.isEmpty {
            timestamp = frame.timestamp
            captureTime = frame.captureTime
        }
        samples += Self.convert(frame, to: channels)
        var packets: [AudioFrame] = []
        let size = Self.packetSamples * channels
        var start = 0
        while samples.count - start >= size, let current = timestamp {
            packets.append(
                AudioFrame(
                    samples: Array(samples[start..<start + size]), channels: channels, captureTime: captureTime,
                    timestamp: current))
            start += size
            timestamp = MediaTime(ticks: current.ticks + Int64(Self.packetSamples), rate: current.rate)
            captureTime = captureTime.map { $0 + ClockRate.opus.span(ofTicks: Int64(Self.packetSamples)) }
        }
        samples.removeFirst(start)
        return packets
    }

    private static func convert(_ frame: AudioFrame, to channels: Int) -> [Int16] {
        switch (frame.channels, channels) {
        case (1, 2): frame.samples.flatMap { [$0, $0] }
        case (2, 1):
            stride(from: 0, to: frame.samples.count - 1, by: 2).map { index in
                Int16((Int32(frame.samples[index]) + Int32(frame.samples[index + 1])) / 2)
            }
        default: frame.samples
        }
    }
}
