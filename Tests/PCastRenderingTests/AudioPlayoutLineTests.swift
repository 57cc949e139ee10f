import PCastCore
import PCastTestSupport
import Testing

@testable import PCastRendering

@Suite("Continuous audio")
struct AudioLineTests {
    private static let origin = Instant(nanoseconds: 3_000_000_000)

    /// Returns 20 ms of a tone, or of noise from a generator with a fixed start.
    private func frame(_ index: Int, hertz: Double = 220) -> AudioFrame {
        let samples = (0..<960).map { sample -> Int16 in
            let phase = Double(index * 960 + sample) * hertz / 48_000
            let turn = (phase - phase.rounded(.down)) * 2
            // A parabola approximates a sine, and is as smooth.
            return Int16(
                (turn < 1 ? 1 : -1) * 4 * (turn - (turn < 1 ? 0 : 1)) * (1 - (turn - (turn < 1 ? 0 : 1))) * 12_000)
        }
        return AudioFrame(
            samples: samples, channels: 1, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(index * 960), rate: .opus))
    }

    /// Places frames at the given delays. Each is ready 10 ms before it is due.
    private func append(_ delays: [Double]) -> [AudioPlayoutLine.TimedAudio] {
        var line = AudioPlayoutLine()
        return delays.enumerated().map { index, delay in
            let due = Self.origin + .milliseconds(Int64(index) * 20) + TimeSpan(seconds: delay / 1_000)
            return line.append(frame(index), due: due, ready: due - .milliseconds(10))
        }
    }

    /// Returns whether each sample directly follows the one before.
    private func isUnbroken(_ placed: [AudioPlayoutLine.TimedAudio]) -> Bool {
        zip(placed, placed.dropFirst()).allSatisfy { earlier, later in
            (later.start - (earlier.start + earlier.audio.length)).magnitude < .microseconds(100)
        }
    }

    /// Returns whether no two adjacent samples differ by much more than those of the tone.
    private func isSmooth(_ placed: [AudioPlayoutLine.TimedAudio]) -> Bool {
        let samples = placed.flatMap { $0.audio.samples.map(Int.init) }
        let steepest = zip(frame(0).samples.map(Int.init), frame(0).samples.dropFirst().map(Int.init))
            .map { abs($0 - $1) }.max()!
        return zip(samples, samples.dropFirst()).allSatisfy { abs($0 - $1) <= steepest * 3 / 2 }
    }

    @Test("a delay that grows or shrinks is followed by stretching, without a break or a click", arguments: [-1, 1])
    func follows(direction: Double) {
        let delays = (0..<400).map { 200 + direction * min(100, Double($0)) }
        let placed = append(delays)
        #expect(isUnbroken(placed) && isSmooth(placed))
        #expect(placed.allSatisfy { $0.gap == .zero })
        let due = Self.origin + .milliseconds(399 * 20) + TimeSpan(seconds: delays[399] / 1_000)
        #expect((placed[399].start - due).magnitude < .milliseconds(8))
    }

    @Test("clocks that differ by 200 parts per million need no stretching", arguments: [-200.0, 200])
    func drift(partsPerMillion: Double) {
        let placed = append((0..<30_000).map { 200 + Double($0) * 20 * partsPerMillion / 1e6 })
        #expect(isUnbroken(placed))
        #expect(placed.allSatisfy { $0.audio.sampleCount == 960 && $0.gap == .zero })
        let due = Self.origin + .milliseconds(29_999 * 20) + TimeSpan(seconds: 0.2 + 600 * partsPerMillion / 1e6)
        #expect((placed.last!.start - due).magnitude < .milliseconds(5))
    }

    @Test("late audio makes a gap that is reported, and audio that is skipped on purpose makes none")
    func gaps() {
        var line = AudioPlayoutLine()
        func append(_ index: Int, late: Int64 = 0) -> AudioPlayoutLine.TimedAudio {
            let due = Self.origin + .milliseconds(Int64(index) * 20)
            return line.append(frame(index), due: due, ready: due + .milliseconds(late))
        }
        #expect(append(0).gap == .zero)
        #expect(append(1).gap == .zero)
        #expect(append(2, late: 70).gap == .milliseconds(70))
        // The sender or the network paused, which is reported elsewhere.
        #expect(append(40).gap == .zero)
    }

    @Test("no period of noise is skipped unless it is necessary")
    func noise() {
        var numbers = SeededGenerator(seed: 9)
        let samples = (0..<960).map { _ in Int16.random(in: -8_000...8_000, using: &numbers) }
        let noise = AudioFrame(
            samples: samples, channels: 1, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
        #expect(TimeStretcher.shorten(noise, by: .milliseconds(20)) == nil)
        #expect(TimeStretcher.lengthen(noise, by: .milliseconds(20)) == nil)
        let cut = TimeStretcher.shorten(noise, by: .milliseconds(20), isUrgent: true)?.sampleCount
        #expect(cut.map { 480...840 ~= $0 } == true)
        #expect(TimeStretcher.shorten(frame(0), by: .milliseconds(1)) == nil)
    }

    @Test("both channels are cut at the same positions")
    func stereo() throws {
        let tone = frame(0)
        let both = AudioFrame(
            samples: tone.samples.flatMap { [$0, -$0] }, channels: 2, captureTime: nil, timestamp: tone.timestamp)
        let longer = try #require(TimeStretcher.lengthen(both, by: .milliseconds(10), isUrgent: true))
        #expect(longer.sampleCount > 960)
        for index in 0..<longer.sampleCount { #expect(longer.samples[2 * index] == -longer.samples[2 * index + 1]) }
    }
}
