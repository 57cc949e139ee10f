import PCastCore

/// Splits a file's audio into contiguous frames of 20 ms whose sample count is the time: gaps become silence, and
/// overlaps are cut.
struct URIAudioFramer {
    /// The largest rounding error of decoders' timestamps.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(5))

    /// The longest gap that is filled. A longer one starts a new position.
    private static let longestGap = ClockRate.opus.ticks(in: .seconds(2))

    let channels: Int
    private var pending: [Int16] = []

    /// The sample number, from position zero, of the first pending sample; nil before it.
    private var start: Int64?

    init(channels: Int) { self.channels = channels }

    /// Adds audio. Returns the frames that are complete, each with the position of its first sample.
    mutating func push(_ frame: AudioFrame, at position: TimeSpan) -> [(frame: AudioFrame, position: TimeSpan)] {
        let index = ClockRate.opus.ticks(in: position)
        var samples = remixed(frame)[...]
        let expected = (start ?? index) + Int64(pending.count / channels)
        let gap = index - expected
        if start == nil || gap > Self.longestGap || gap < -Self.longestGap {
            start = index
            pending.removeAll()
        } else if gap > Self.tolerance {
            pending.append(contentsOf: repeatElement(0, count: Int(gap) * channels))
        } else if gap < -Self.tolerance {
            samples = samples.dropFirst(Int(-gap) * channels)
        }
        pending.append(contentsOf: samples)
        return takeWhole()
    }

    private mutating func takeWhole() -> [(frame: AudioFrame, position: TimeSpan)] {
        let size = AudioFrameTiming.sampleCount * channels
        var frames: [(frame: AudioFrame, position: TimeSpan)] = []
        var offset = 0
        while pending.count - offset >= size, let first = start {
            let frame = AudioFrame(
                samples: Array(pending[offset..<offset + size]), channels: channels, captureTime: nil,
                timestamp: MediaTime(ticks: first, rate: .opus))
            frames.append((frame, ClockRate.opus.span(ofTicks: first)))
            start = first + Int64(AudioFrameTiming.sampleCount)
            offset += size
        }
        pending.removeFirst(offset)
        return frames
    }

    /// Converts audio to the track's channels, which may change within a file.
    private func remixed(_ frame: AudioFrame) -> [Int16] {
        if frame.channels == channels { return frame.samples }
        if channels == 2 { return frame.samples.flatMap { [$0, $0] } }
        return stride(from: 0, to: frame.samples.count - 1, by: 2).map { (index: Int) -> Int16 in
            let sum = Int(frame.samples[index]) + Int(frame.samples[index + 1])
            return Int16(sum / 2)
        }
    }
}
