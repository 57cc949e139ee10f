import Glibc
import PCastCodecs
import PCastCore
import Testing

@Suite("Transcoding of AAC to Opus")
struct OpusTranscoderTests {
    private static let epoch = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    /// Frames of AAC with a click of 5 ms in each second, and their times in milliseconds, as in FLV.
    private func encoded(seconds: Int) throws -> (configuration: [UInt8], frames: [(bytes: [UInt8], time: TimeSpan)]) {
        let encoder = try AACEncoder()
        var frames: [(bytes: [UInt8], time: TimeSpan)] = []
        for part in 0..<(seconds * 50) {
            let samples = (0..<960).flatMap { index -> [Int16] in
                let position = (part * 960 + index) % 48_000
                let value = position < 240 ? Int16(12_000 * sin(2 * .pi * 2_000 * Double(position) / 48_000)) : 0
                return [value, value]
            }
            let audio = AudioFrame(
                samples: samples, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: Int64(part) * 960, rate: .opus))
            for packet in try encoder.encode(audio) {
                let time = ClockRate.opus.span(ofTicks: packet.sample)
                frames.append((packet.bytes, .milliseconds(Int64(time.milliseconds.rounded(.down)))))
            }
        }
        return (encoder.configuration, frames)
    }

    @Test("the audio is at its time, and each packet has the capture time of its first sample")
    func times() throws {
        let (configuration, frames) = try encoded(seconds: 4)
        let transcoder = try OpusTranscoder(configuration: configuration)
        let decoder = try OpusDecoder(channels: 2)
        var packets: [EncodedFrame] = []
        var clicks: [Int64] = []
        var isQuiet = true
        for frame in frames {
            for packet in try transcoder.transcode(
                frame.bytes, time: frame.time, captureTime: Self.epoch + frame.time)
            {
                packets.append(packet)
                let audio = try decoder.decode(packet)
                for index in 0..<audio.sampleCount {
                    let isLoud = abs(Int(audio.samples[2 * index])) > 3_000
                    // A click has several waves, so it ends after 100 ms without one.
                    if isLoud, isQuiet { clicks.append(packet.timestamp.ticks + Int64(index)) }
                    if isLoud { isQuiet = false }
                    if let last = clicks.last, packet.timestamp.ticks + Int64(index) - last > 4_800 { isQuiet = true }
                }
            }
        }
        let ticks = packets.map(\.timestamp.ticks)
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1 - $0 == 960 })
        for packet in packets {
            let expected = Self.epoch + ClockRate.opus.span(ofTicks: packet.timestamp.ticks)
            #expect(try #require(packet.captureTime).span(since: expected)?.magnitude ?? .seconds(1) < .milliseconds(2))
        }
        #expect(clicks.count >= 3)
        // The encoder of Opus has a delay of 6.5 ms.
        for click in clicks { #expect(abs(click - (click + 24_000) / 48_000 * 48_000) < 960) }
    }

    @Test("times with jitter give a continuous stream, and a gap remains one")
    func jitter() throws {
        let (configuration, frames) = try encoded(seconds: 2)
        let transcoder = try OpusTranscoder(configuration: configuration)
        var ticks: [Int64] = []
        for (number, frame) in frames.enumerated() {
            let jitter = TimeSpan.milliseconds([0, 6, -6, 3][number % 4])
            let gap = number >= 40 ? TimeSpan.seconds(1) : .zero
            let time = frame.time + jitter + gap
            ticks += try transcoder.transcode(frame.bytes, time: time, captureTime: Self.epoch + time)
                .map(\.timestamp.ticks)
        }
        let steps = zip(ticks, ticks.dropFirst()).map { $1 - $0 }
        #expect(steps.count { $0 != 960 } == 1)
        let gap = try #require(steps.first { $0 != 960 })
        #expect(abs(gap - 48_960) < 2_000)
    }

    @Test("a damaged frame does not end the stream, and a damaged configuration is an error")
    func damaged() throws {
        let (configuration, frames) = try encoded(seconds: 1)
        let transcoder = try OpusTranscoder(configuration: configuration)
        var count = 0
        for (number, frame) in frames.enumerated() {
            let bytes = number % 10 == 5 ? [UInt8](repeating: 0xFF, count: 30) : frame.bytes
            count += (try? transcoder.transcode(bytes, time: frame.time, captureTime: Self.epoch))?.count ?? 0
        }
        #expect(count > 20)
        #expect(throws: CodecError.self) { try transcoder.transcode([], time: .zero, captureTime: Self.epoch) }
        #expect(throws: CodecError.self) { try OpusTranscoder(configuration: [0xFF, 0xFF, 0xFF]) }
    }
}
