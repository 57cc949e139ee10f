import PCastCore
import Testing

@testable import PCastIO

@Suite("The audio that this process plays")
struct PlayedAudioTests {
    private let audio = PlayedAudio()
    private let origin = Instant(nanoseconds: 5_000_000_000)

    private func play(_ samples: [Int16], channels: Int = 1, on audioOutput: PlayedAudioWriter, after offset: TimeSpan)
    {
        samples.withUnsafeBufferPointer { audioOutput.play($0, channels: channels, from: origin + offset) }
    }

    private func read(after offset: TimeSpan, count: Int) -> [Int16] {
        audio.read(from: origin + offset, count: count)
    }

    @Test("audio is read at the time at which it was played, with silence around it")
    func byTime() {
        let audioOutput = PlayedAudioWriter(of: audio)
        #expect(read(after: .zero, count: 2) == [0, 0])
        play([100, 200, 300, 400], on: audioOutput, after: .milliseconds(1))
        #expect(read(after: .milliseconds(1), count: 4) == [100, 200, 300, 400])
        #expect(
            read(after: .milliseconds(1) - ClockRate.opus.span(ofTicks: 2), count: 8) == [
                0, 0, 100, 200, 300, 400, 0, 0,
            ])
    }

    @Test("channels are averaged")
    func stereo() {
        play([100, 300, -5, -7], channels: 2, on: PlayedAudioWriter(of: audio), after: .zero)
        #expect(read(after: .zero, count: 3) == [200, -6, 0])
    }

    @Test("the audio of concurrent outputs is added and does not wrap around")
    func mixing() {
        play([100, 30_000, -30_000], on: PlayedAudioWriter(of: audio), after: .zero)
        play([1, 30_000, -30_000, 7], on: PlayedAudioWriter(of: audio), after: .zero)
        #expect(read(after: .zero, count: 5) == [101, 32_767, -32_768, 7, 0])
    }

    @Test("jitter in a writer's instants causes neither gaps nor overlaps")
    func jitter() {
        let audioOutput = PlayedAudioWriter(of: audio)
        let jitter: [Int64] = [0, 900, -2_000, 7_000, -9_000, 300]
        for (chunk, microseconds) in jitter.enumerated() {
            play(
                [Int16](repeating: Int16(chunk + 1), count: 480), on: audioOutput,
                after: .milliseconds(10 * Int64(chunk)) + .microseconds(microseconds))
        }
        let expected = (1...6).flatMap { [Int16](repeating: Int16($0), count: 480) }
        #expect(read(after: .zero, count: 2_880) == expected)
    }

    @Test("after a pause a writer's audio is at its instant")
    func pause() {
        let audioOutput = PlayedAudioWriter(of: audio)
        play([1, 1], on: audioOutput, after: .zero)
        play([2, 2], on: audioOutput, after: .milliseconds(100))
        #expect(read(after: .milliseconds(100), count: 3) == [2, 2, 0])
        #expect(read(after: .zero, count: 3) == [1, 1, 0])
    }

    @Test("the oldest audio is removed, and does not reappear at another time")
    func removesOldestAudio() {
        let audioOutput = PlayedAudioWriter(of: audio)
        let chunk = [Int16](repeating: 1_000, count: 480)
        for index in 0..<400 { play(chunk, on: audioOutput, after: .milliseconds(10 * Int64(index))) }
        #expect(read(after: .milliseconds(1_000), count: 48) == [Int16](repeating: 0, count: 48))
        #expect(read(after: .milliseconds(3_000), count: 48) == [Int16](repeating: 1_000, count: 48))
        #expect(read(after: .milliseconds(4_000), count: 48) == [Int16](repeating: 0, count: 48))
        // The pause is longer than the ring buffer, and a writer reports a wrong time before it.
        play([5, 6], on: audioOutput, after: .seconds(100_000))
        play([7, 8], on: audioOutput, after: .seconds(60))
        #expect(read(after: .seconds(60), count: 3) == [7, 8, 0])
        #expect(read(after: .milliseconds(3_000), count: 1) == [0])
    }

    @Test("audio counts as playing while it is audible and for another second, and silence does not count")
    func playing() {
        let audioOutput = PlayedAudioWriter(of: audio)
        #expect(!audio.isPlaying(at: origin))
        play([Int16](repeating: 3, count: 480), on: audioOutput, after: .zero)
        #expect(!audio.isPlaying(at: origin + .milliseconds(10)))
        play([Int16](repeating: 3_000, count: 480), on: audioOutput, after: .milliseconds(500))
        #expect(!audio.isPlaying(at: origin + .milliseconds(490)))
        #expect(audio.isPlaying(at: origin + .milliseconds(505)))
        #expect(audio.isPlaying(at: origin + .milliseconds(1_500)))
        #expect(!audio.isPlaying(at: origin + .milliseconds(1_520)))
    }
}
