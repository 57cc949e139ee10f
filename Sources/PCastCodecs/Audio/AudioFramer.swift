package import PCastCore

/// Divides audio into packets of 20 ms and converts it to the required number of channels.
package struct AudioFramer {
    /// The number of samples per channel in a packet.
    package static let packetSamples = 960

    private let channels: Int
    private var samples: [Int16] = []
    /// The timestamp of the first buffered sample; nil before the first one.
    private var timestamp: MediaTime?
    private var captureTime: WallTime?

    /// The largest deviation from the expected timestamp, in samples (5 ms). A larger one discards the buffered samples
    /// and starts a new packet.
    private static let tolerance: Int64 = 48 * 5

    /// Creates a framer for 1 or 2 channels.
    package init(channels: Int) { self.channels = channels }

    /// Adds audio at 48 kHz and returns the packets that it completes.
    package mutating func append(_ frame: AudioFrame) -> [AudioFrame] {
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
