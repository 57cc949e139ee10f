import PCastCore
import PCastNetworkEmulation
import Testing

@testable import PCastRendering

@Suite("Sound is laid without breaks")
struct AudioLineTests {
    private static let origin = Instant(nanoseconds: 3_000_000_000)

    /// 20 ms of a tone, or of noise by a seed.
    private func frame(_ index: Int, hertz: Double = 220) -> AudioFrame {
        let samples = (0..<960).map { sample -> Int16 in
            let phase = Double(index * 960 + sample) * hertz / 48_000
            let turn = (phase - phase.rounded(.down)) * 2
            // A parabola is near enough to a sine, and as smooth.
            return Int16(
                (turn < 1 ? 1 : -1) * 4 * (turn - (turn < 1 ? 0 : 1)) * (1 - (turn - (turn < 1 ? 0 : 1))) * 12_000)
        }
        return AudioFrame(
            samples: samples, channels: 1, captureTime: nil,
            timestamp: MediaTime(ticks: Int64(index * 960), rate: .opus))
    }

    /// Lays frames at the delays given, each ready 10 ms before it is due.
    private func lay(_ delays: [Double]) -> [AudioLine.Placed] {
        var line = AudioLine()
        return delays.enumerated().map { index, delay in
            let due = Self.origin + .milliseconds(Int64(index) * 20) + TimeSpan(seconds: delay / 1_000)
            return line.lay(frame(index), due: due, ready: due - .milliseconds(10))
        }
    }

    /// The sound as it is heard: one sample behind the other, if it is without breaks.
    private func isUnbroken(_ placed: [AudioLine.Placed]) -> Bool {
        zip(placed, placed.dropFirst()).allSatisfy { earlier, later in
            (later.start - (earlier.start + earlier.sound.length)).magnitude < .microseconds(100)
        }
    }

    /// No sample is further from its neighbour than the tone itself goes, or a little more.
    private func isSmooth(_ placed: [AudioLine.Placed]) -> Bool {
        let samples = placed.flatMap { $0.sound.samples.map(Int.init) }
        let steepest = zip(frame(0).samples.map(Int.init), frame(0).samples.dropFirst().map(Int.init))
            .map { abs($0 - $1) }.max()!
        return zip(samples, samples.dropFirst()).allSatisfy { abs($0 - $1) <= steepest * 3 / 2 }
    }

    @Test("a delay that grows or shrinks is followed by stretching, without a break or a click", arguments: [-1, 1])
    func follows(direction: Double) {
        let delays = (0..<400).map { 200 + direction * min(100, Double($0)) }
        let placed = lay(delays)
        #expect(isUnbroken(placed) && isSmooth(placed))
        #expect(placed.allSatisfy { $0.gap == .zero })
        let due = Self.origin + .milliseconds(399 * 20) + TimeSpan(seconds: delays[399] / 1_000)
        #expect((placed[399].start - due).magnitude < .milliseconds(8))
    }

    @Test("clocks that differ by 200 parts per million need no stretching", arguments: [-200.0, 200])
    func drift(partsPerMillion: Double) {
        let placed = lay((0..<30_000).map { 200 + Double($0) * 20 * partsPerMillion / 1e6 })
        #expect(isUnbroken(placed))
        #expect(placed.allSatisfy { $0.sound.sampleCount == 960 && $0.gap == .zero })
        let due = Self.origin + .milliseconds(29_999 * 20) + TimeSpan(seconds: 0.2 + 600 * partsPerMillion / 1e6)
        #expect((placed.last!.start - due).magnitude < .milliseconds(5))
    }

    @Test("what is not there in time makes a gap, which is told; what was left out on purpose makes none")
    func gaps() {
        var line = AudioLine()
        func lay(_ index: Int, late: Int64 = 0) -> AudioLine.Placed {
            let due = Self.origin + .milliseconds(Int64(index) * 20)
            return line.lay(frame(index), due: due, ready: due + .milliseconds(late))
        }
        #expect(lay(0).gap == .zero)
        #expect(lay(1).gap == .zero)
        #expect(lay(2, late: 70).gap == .milliseconds(70))
        // The sender was silent for a while, or the path was: that is told elsewhere.
        #expect(lay(40).gap == .zero)
    }

    @Test("of noise no period is left out unless it has to be")
    func noise() {
        var numbers = SeededGenerator(seed: 9)
        let samples = (0..<960).map { _ in Int16.random(in: -8_000...8_000, using: &numbers) }
        let noise = AudioFrame(
            samples: samples, channels: 1, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
        #expect(OverlapAdd.shorten(noise, by: .milliseconds(20)) == nil)
        #expect(OverlapAdd.lengthen(noise, by: .milliseconds(20)) == nil)
        let cut = OverlapAdd.shorten(noise, by: .milliseconds(20), isUrgent: true)?.sampleCount
        #expect(cut.map { 480...840 ~= $0 } == true)
        #expect(OverlapAdd.shorten(frame(0), by: .milliseconds(1)) == nil)
    }

    @Test("both channels are cut at the same places")
    func stereo() throws {
        let tone = frame(0)
        let both = AudioFrame(
            samples: tone.samples.flatMap { [$0, -$0] }, channels: 2, captureTime: nil, timestamp: tone.timestamp)
        let longer = try #require(OverlapAdd.lengthen(both, by: .milliseconds(10), isUrgent: true))
        #expect(longer.sampleCount > 960)
        for index in 0..<longer.sampleCount { #expect(longer.samples[2 * index] == -longer.samples[2 * index + 1]) }
    }
}
