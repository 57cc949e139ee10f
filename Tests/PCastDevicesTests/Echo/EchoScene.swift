import Glibc
import PCastCore

@testable import PCastDevices
@testable import PCastIO

/// A call in a simulated room. The far speaker is played, the near speaker speaks, and a canceller processes the
/// microphone's audio.
struct EchoScene {
    static let origin = Instant(nanoseconds: 3_000_000_000_000)

    /// The played audio, 16 bits at 48 kHz.
    var played: [Int16]

    /// The audio that the microphone records, one array for each channel.
    var heard: [[Int16]]

    /// The near speech in the recorded audio.
    var near: [Double]

    /// Whether the times of the microphone's frames follow its clock, as a fitted clock's do, or its count of samples.
    var clockIsReported = true
    var drift = 0.0

    /// The frames that were lost before they reached the canceller.
    var lost = Range<Int>(uncheckedBounds: (0, 0))

    init(far: [Double], near: [Double], room: SimulatedRoom) {
        played = far.map { Int16(max(-32_768, min(32_767, $0.rounded()))) }
        self.near = near
        drift = room.drift
        heard = [room.hear(echo: room.echo(of: played.map { Double($0) }), speech: near)]
    }

    /// Returns the output of the canceller, one array for each channel; lost frames are silence. `visit` receives each
    /// frame's number before the frame is processed.
    func run(
        _ canceller: EchoCanceller, into audioOutput: PlayedAudioWriter, visit: (Int) -> Void = { _ in }
    ) -> [[Int16]] {
        var cleaned = heard.map { _ in [Int16]() }
        var received = 0
        var random = SeededRandom(seed: 5)
        for frame in 0..<heard[0].count / 960 {
            // A device gets its audio about 30 ms before it is audible.
            while received < min(played.count, (frame + 1) * 960 + 1_440) {
                let count = min(480, played.count - received)
                let instant = Self.origin + ClockRate.opus.span(ofTicks: Int64(received))
                played.withUnsafeBufferPointer {
                    audioOutput.play(
                        UnsafeBufferPointer(rebasing: $0[received..<received + count]), channels: 1,
                        from: instant + .microseconds(Int64(random.uniform(-400...400))))
                }
                received += count
            }
            visit(frame)
            let samples = (0..<960).flatMap { index in heard.map { $0[frame * 960 + index] } }
            guard !lost.contains(frame) else {
                for channel in cleaned.indices { cleaned[channel] += [Int16](repeating: 0, count: 960) }
                continue
            }
            let pace = clockIsReported ? 1 + drift * 1e-6 : 1
            let start = Self.origin + TimeSpan(seconds: Double(frame * 960) / 48_000 * pace)
            let result = canceller.process(
                AudioFrame(
                    samples: samples, channels: heard.count, captureTime: nil,
                    timestamp: MediaTime(ticks: Int64(frame * 960), rate: .opus)),
                capturedAt: start + .microseconds(Int64(random.uniform(-300...300))))
            for channel in cleaned.indices {
                cleaned[channel] += stride(from: channel, to: result.samples.count, by: heard.count)
                    .map { result.samples[$0] }
            }
        }
        return cleaned
    }

    /// Runs one channel with its own canceller.
    func run(mode: AudioEchoCancellationMode = .automatic) -> (cleaned: [Int16], status: EchoCancellerStatus) {
        let audio = PlayedAudio()
        let canceller = EchoCanceller(channels: heard.count, mode: mode, played: audio)
        let cleaned = run(canceller, into: PlayedAudioWriter(of: audio))
        return (cleaned[0], canceller.status)
    }

    /// Returns the reduction of the echo in decibels, between two seconds.
    func reduction(_ cleaned: [Int16], _ seconds: ClosedRange<Double>, channel: Int = 0) -> Double {
        let range = Int(seconds.lowerBound * 48_000)..<Int(seconds.upperBound * 48_000)
        let before = power(heard[channel][range].map { Double($0) })
        return 10 * log10(before / (power(cleaned[range].map { Double($0) }) + 1e-3))
    }

    /// Returns the correlation of the result with the near speech: 1 for equal, 0 for unrelated.
    func likeness(_ cleaned: [Int16], _ seconds: ClosedRange<Double>) -> Double {
        var (product, left, right) = (0.0, 1e-9, 1e-9)
        for index in Int(seconds.lowerBound * 48_000)..<Int(seconds.upperBound * 48_000) {
            let sample = Double(cleaned[index])
            product += near[index] * sample
            left += near[index] * near[index]
            right += sample * sample
        }
        return product / (left * right).squareRoot()
    }
}

extension [Double] {
    /// Returns the samples between two seconds, and silence otherwise.
    func only(_ seconds: ClosedRange<Double>) -> [Double] {
        enumerated().map { seconds.contains(Double($0.offset) / 48_000) ? $0.element : 0 }
    }
}
