import PCastCodecs
import PCastMedia

/// Opus into AAC on one even line of time: a hole in the sound becomes silence.
final class SoundTranscoder: @unchecked Sendable {  // owned by one thread at a time
    private let decoder: OpusDecoder
    private let encoder: AACEncoder
    /// When the first sample is heard, and how many went in since.
    private var beginning: TimeSpan?
    private var count: Int64 = 0

    /// Less is only rounding; what is longer than a second is left as a hole.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))
    private static let longestHole = ClockRate.opus.ticks(in: .seconds(1))

    init() throws(CodecError) {
        decoder = try OpusDecoder(channels: 2)
        encoder = try AACEncoder()
    }

    var configuration: [UInt8] { encoder.configuration }

    /// - Returns: packets, each with when it is heard.
    func transcode(_ frame: EncodedFrame, at position: TimeSpan) -> [(bytes: [UInt8], position: TimeSpan)] {
        guard let sound = try? decoder.decode(frame) else { return [] }
        let start = beginning ?? position
        beginning = start
        let hole = ClockRate.opus.ticks(in: position - start) - count
        var samples = sound.samples
        if hole > Self.tolerance {
            samples = [Int16](repeating: 0, count: Int(min(hole, Self.longestHole)) * 2) + samples
            if hole > Self.longestHole { beginning = start + ClockRate.opus.span(ofTicks: hole - Self.longestHole) }
        }
        count += Int64(samples.count / 2)
        let whole = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: sound.timestamp)
        let packets = (try? encoder.encode(whole)) ?? []
        return packets.map { ($0.bytes, (beginning ?? start) + ClockRate.opus.span(ofTicks: $0.sample)) }
    }
}
