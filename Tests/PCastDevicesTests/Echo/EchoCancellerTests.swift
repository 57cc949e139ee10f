import Glibc
import PCastCore
import Testing

@testable import PCastDevices
@testable import PCastIO

/// The conditions for echo cancellation, and the audio that a canceller leaves unchanged.
@Suite("Echo cancellation: off, on and automatic")
struct EchoCancellerTests {
    private let origin = Instant(nanoseconds: 700_000_000_000)
    private let audio = PlayedAudio()

    /// Returns the frame of a number, with 20 ms each.
    private func frame(_ number: Int, channels: Int = 1, sample: (Int) -> Double) -> AudioFrame {
        let samples = (0..<960).flatMap { index in
            [Int16](repeating: Int16(sample(number * 960 + index).rounded()), count: channels)
        }
        return AudioFrame(
            samples: samples, channels: channels, captureTime: WallTime(millisecondsSinceEpoch: Int64(20 * number)),
            timestamp: MediaTime(ticks: Int64(960 * number), rate: .opus))
    }

    private func instant(_ number: Int) -> Instant { origin + .milliseconds(20 * Int64(number)) }

    /// Plays audio during a frame.
    private func play(_ number: Int, on audioOutput: PlayedAudioWriter) {
        var random = SeededRandom(seed: UInt64(number))
        let samples = (0..<960).map { _ in Int16(random.uniform(-8_000...8_000)) }
        samples.withUnsafeBufferPointer { audioOutput.play($0, channels: 1, from: instant(number)) }
    }

    private func noise(_ seed: Int) -> (Int) -> Double {
        { index in
            var random = SeededRandom(seed: UInt64(seed &* 1_000_003 &+ index))
            return random.uniform(-20_000...20_000)
        }
    }

    @Test("off leaves every frame unchanged, whatever is played", arguments: [1, 2])
    func off(_ channels: Int) {
        let canceller = EchoCanceller(channels: channels, mode: .off, played: audio)
        let audioOutput = PlayedAudioWriter(of: audio)
        for number in 0..<50 {
            play(number, on: audioOutput)
            let given = frame(number, channels: channels, sample: noise(1))
            #expect(canceller.process(given, capturedAt: instant(number)).samples == given.samples)
        }
        #expect(!canceller.status.isActive)
    }

    @Test("automatic leaves every frame unchanged while nothing is played", arguments: [1, 2])
    func nothingPlayed(_ channels: Int) {
        let canceller = EchoCanceller(channels: channels, played: audio)
        #expect(canceller.mode == .automatic)
        for number in 0..<50 {
            let given = frame(number, channels: channels, sample: noise(2))
            #expect(canceller.process(given, capturedAt: instant(number)).samples == given.samples)
        }
        #expect(!canceller.status.isActive && canceller.status.delay == nil)
    }

    @Test("automatic starts with the played audio, ends a second after it, and then leaves frames unchanged")
    func automatic() {
        let canceller = EchoCanceller(channels: 1, played: audio)
        let audioOutput = PlayedAudioWriter(of: audio)
        var active: [Int] = []
        for number in 0..<150 {
            if (20..<70).contains(number) { play(number, on: audioOutput) }
            let given = frame(number, sample: noise(3))
            let cleaned = canceller.process(given, capturedAt: instant(number))
            if canceller.status.isActive { active.append(number) }
            #expect(cleaned.captureTime == given.captureTime && cleaned.timestamp == given.timestamp)
            #expect(cleaned.samples.count == 960)
            if !(20...121).contains(number) { #expect(cleaned.samples == given.samples, "frame \(number)") }
        }
        #expect(active.first == 20)
        #expect((118...121).contains(active.last ?? 0), "\(active.last ?? 0)")
    }

    @Test("the mode can change while it runs")
    func changedMode() {
        let canceller = EchoCanceller(channels: 1, mode: .off, played: audio)
        let audioOutput = PlayedAudioWriter(of: audio)
        for (number, mode) in [AudioEchoCancellationMode.off, .on, .automatic, .off].enumerated() {
            canceller.mode = mode
            play(number, on: audioOutput)
            _ = canceller.process(frame(number, sample: noise(4)), capturedAt: instant(number))
            #expect(canceller.status.isActive == (mode != .off))
        }
    }

    @Test("on without played audio makes no audible change")
    func onWithoutAudio() {
        let canceller = EchoCanceller(channels: 1, mode: .on, played: audio)
        for number in 0..<100 {
            let given = frame(number) { 9_000 * sin(Double($0) * 0.05) }
            let cleaned = canceller.process(given, capturedAt: instant(number))
            #expect(zip(cleaned.samples, given.samples).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        }
        #expect(canceller.status.isActive)
    }

    @Test("the start and end make no clicks: a steady tone stays smooth")
    func noClicks() {
        let canceller = EchoCanceller(channels: 1, played: audio)
        let audioOutput = PlayedAudioWriter(of: audio)
        var line: [Int16] = []
        for number in 0..<300 {
            if (50..<100).contains(number) || (180..<200).contains(number) { play(number, on: audioOutput) }
            let given = frame(number) { 6_000 * sin(Double($0) * 2 * .pi * 440 / 48_000) }
            line += canceller.process(given, capturedAt: instant(number)).samples
        }
        // The tone's steps are at most 345. The differences of adjacent steps are at most 20.
        var bend = 0
        for index in 2..<line.count {
            bend = max(bend, abs(Int(line[index]) - 2 * Int(line[index - 1]) + Int(line[index - 2])))
        }
        #expect(bend < 60, "\(bend)")
    }
}
