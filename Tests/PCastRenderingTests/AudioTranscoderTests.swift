import PCastCodecs
import PCastCore
import Testing

@testable import PCastRendering

struct AudioTranscoderTests {
    @Test("a gap in the audio becomes silence of its length, and later audio keeps its position")
    func hole() throws {
        let encoder = try OpusEncoder(channels: 2, bitrate: .kilobits(64))
        let transcoder = try AudioTranscoder()
        var positions: [TimeSpan] = []
        for index in 0..<100 {
            let tone = (0..<1_920).map { Int16(8_000 * ($0 / 96 % 2)) }
            let audio = AudioFrame(
                samples: tone, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: Int64(index) * 960, rate: .opus))
            for packet in try encoder.encode(audio) where !(40..<60).contains(index) {
                let position = TimeSpan.seconds(7) + .milliseconds(Int64(index) * 20)
                positions += transcoder.transcode(packet, at: position).map(\.position)
            }
        }
        let length = ClockRate.opus.span(ofTicks: 1_024)
        for (one, next) in zip(positions, positions.dropFirst()) {
            #expect(abs((next - one - length).milliseconds) < 0.1)
        }
        // The encoder delays some frames.
        let last = try #require(positions.last)
        #expect(abs((last - .seconds(9)).milliseconds) < 100, "\(last)")
    }
}
