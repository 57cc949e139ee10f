import PCastCodecs
import PCastCore

/// Transcodes Opus to AAC with contiguous timestamps. Gaps in the audio become silence.
final class AudioTranscoder: @unchecked Sendable {  // owned by one thread at a time
    private let decoder: OpusDecoder
    private let encoder: AACEncoder
    /// The position of the first sample, and the number of samples that were encoded.
    private var beginning: TimeSpan?
    private var count: Int64 = 0

    /// Shorter gaps are rounding. Gaps longer than a second are not filled.
    private static let tolerance = ClockRate.opus.ticks(in: .milliseconds(20))
    private static let maximumGap = ClockRate.opus.ticks(in: .seconds(1))

    init() throws(CodecError) {
        decoder = try OpusDecoder(channels: 2)
        encoder = try AACEncoder()
    }

    var configuration: [UInt8] { encoder.configuration }

    /// Transcodes a packet and returns AAC packets with their positions.
    func transcode(_ frame: EncodedFrame, at position: TimeSpan) -> [(bytes: [UInt8], position: TimeSpan)] {
        guard let audio = try? decoder.decode(frame) else { return [] }
        let start = beginning ?? position
        beginning = start
        let hole = ClockRate.opus.ticks(in: position - start) - count
        var samples = audio.samples
        if hole > Self.tolerance {
            samples = [Int16](repeating: 0, count: Int(min(hole, Self.maximumGap)) * 2) + samples
            if hole > Self.maximumGap { beginning = start + ClockRate.opus.span(ofTicks: hole - Self.maximumGap) }
        }
        count += Int64(samples.count / 2)
        let whole = AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: audio.timestamp)
        let packets = (try? encoder.encode(whole)) ?? []
        return packets.map { ($0.bytes, (beginning ?? start) + ClockRate.opus.span(ofTicks: $0.sample)) }
    }
}
