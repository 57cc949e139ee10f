import Glibc
import PCastCore
import Testing

@testable import PCastDevices
@testable import PCastIO

/// The parts of echo cancellation, each separately.
@Suite("The parts of echo cancellation")
struct EchoPartsTests {
    private func buffer(_ samples: [Double]) -> VectorBuffer {
        let buffer = VectorBuffer(count: samples.count)
        for (index, sample) in samples.enumerated() { buffer.floats[index] = Float(sample) }
        return buffer
    }

    @Test(
        "the transform follows its definition, and its inverse restores the samples", arguments: [64, 128, 512])
    func transform(_ length: Int) {
        var random = SeededRandom(seed: UInt64(length))
        let samples = (0..<length).map { _ in random.uniform(-1...1) }
        // The component at half the sampling rate is subtracted, because the transform omits it.
        let half = samples.enumerated().reduce(0) { $0 + ($1.offset.isMultiple(of: 2) ? $1.element : -$1.element) }
        let rest = samples.enumerated().map { index, sample in
            sample - (index.isMultiple(of: 2) ? half : -half) / Double(length)
        }
        let transform = RealTransform(length: length)
        let spectrum = Spectrum(count: length / 2)
        let input = buffer(rest)
        transform.forward(input.floats, into: spectrum)
        for bin in 0..<length / 2 {
            var (real, imaginary) = (0.0, 0.0)
            for (index, sample) in rest.enumerated() {
                let angle = -2 * .pi * Double(bin * index % length) / Double(length)
                real += sample * cos(angle)
                imaginary += sample * sin(angle)
            }
            #expect(abs(Double(spectrum.realFloats[bin]) - real) < 1e-4)
            #expect(abs(Double(spectrum.imaginaryFloats[bin]) - imaginary) < 1e-4)
        }
        let back = VectorBuffer(count: length)
        transform.inverse(spectrum, into: back.floats)
        for index in 0..<length { #expect(abs(Double(back.floats[index]) - rest[index]) < 1e-5) }
        // The floats live only as long as their buffers.
        withExtendedLifetime((input, spectrum, back)) {}
    }

    @Test("delays of speech are found within a few milliseconds", arguments: [-0.01, 0.0, 0.04, 0.15, 0.29])
    func delay(_ delay: Double) throws {
        let voice = Voice.woman(401).speak(seconds: 4)
        let room = SimulatedRoom(seed: 402, delay: max(0, delay), drift: 0)
        let captured = room.hear(echo: room.echo(of: voice), speech: [])
        // Audio that is reported too late seems to be heard before it is played.
        let received = [Double](repeating: 0, count: Int(max(0, -delay) * 48_000)) + voice
        let estimator = DelayEstimator()
        var last: DelayEstimator.Estimate?
        for start in stride(from: 0, to: voice.count - 240, by: 240) {
            let block = buffer(captured[start..<start + 240].map { Double($0) })
            last = estimator.observe(played: buffer(Array(received[start..<start + 240])), captured: block) ?? last
        }
        let estimate = try #require(last)
        #expect((estimate.delay - TimeSpan(seconds: delay)).magnitude < .milliseconds(6), "\(estimate.delay)")
        #expect(estimate.confidence > 8)
    }

    @Test("audio that was not played has no clear delay")
    func noDelay() throws {
        let (played, captured) = (Voice.woman(411).speak(seconds: 6), Voice.man(412).speak(seconds: 6))
        let estimator = DelayEstimator()
        var choice = DelayChoice()
        for start in stride(from: 0, to: played.count - 240, by: 240) {
            let estimate = estimator.observe(
                played: buffer(Array(played[start..<start + 240])),
                captured: buffer(Array(captured[start..<start + 240])))
            guard let estimate else { continue }
            #expect(choice.consider(estimate, chosen: nil, isHelping: false) == nil, "\(estimate)")
        }
    }

    @Test("two equal estimates select a delay; four change it if cancellation fails")
    func choice() {
        func estimate(_ milliseconds: Int64, confidence: Float = 10, gain: Float = 0.2) -> DelayEstimator.Estimate {
            DelayEstimator.Estimate(delay: .milliseconds(milliseconds), confidence: confidence, gain: gain)
        }
        var choice = DelayChoice()
        let none: TimeSpan? = nil
        #expect(choice.consider(estimate(40, confidence: 5), chosen: none, isHelping: false) == nil)
        #expect(choice.consider(estimate(40, gain: 1e-6), chosen: none, isHelping: false) == nil)
        #expect(choice.consider(estimate(90), chosen: none, isHelping: false) == nil)
        #expect(choice.consider(estimate(40), chosen: none, isHelping: false) == nil)
        let first = choice.consider(estimate(42), chosen: none, isHelping: false)
        #expect(first == .milliseconds(42) - DelayChoice.lead)
        // A delay that the filter covers anyway is no reason for a change.
        for _ in 0..<10 { #expect(choice.consider(estimate(60), chosen: first, isHelping: false) == nil) }
        for _ in 0..<10 { #expect(choice.consider(estimate(150), chosen: first, isHelping: true) == nil) }
        #expect(choice.consider(estimate(40), chosen: first, isHelping: false) == nil)
        for _ in 0..<4 { #expect(choice.consider(estimate(150), chosen: first, isHelping: false) == nil) }
        #expect(choice.consider(estimate(151), chosen: first, isHelping: false) == .milliseconds(143))
    }

    @Test("gains are applied as requested, without a delay")
    func minimumPhase() {
        let transform = RealTransform(length: EchoBlock.transformLength)
        for (low, high) in [(1.0, 1.0), (0.5, 0.5), (1.0, 0.1), (0.05, 1.0)] {
            let shaper = MinimumPhase(transform: transform)
            // The gains are constant below 2 kHz and above 4 kHz, with different values.
            let gains = buffer(
                (0..<EchoBlock.binCount).map { bin in
                    let share = min(1, max(0, (Double(bin) * 93.75 - 2_000) / 2_000))
                    return exp(log(low) * (1 - share) + log(high) * share)
                })
            for (frequency, gain) in [(600.0, low), (9_000, high)] {
                var (sum, worst) = (0.0, 0.0)
                for start in stride(from: 0, to: 4_800, by: 240) {
                    let block = buffer(
                        (start..<start + 240).map { 1_000 * sin(2 * .pi * frequency * Double($0) / 48_000) })
                    shaper.apply(gains, to: block)
                    guard start >= 1_200 else { continue }
                    for index in 0..<240 {
                        let sample = Double(block.floats[index])
                        sum += sample * sample
                        let expected = gain * 1_000 * sin(2 * .pi * frequency * Double(start + index) / 48_000)
                        worst = max(worst, abs(sample - expected))
                    }
                }
                let level = (2 * sum / 3_600).squareRoot() / 1_000
                #expect(abs(level / gain - 1) < 0.1, "\(level) for \(gain) at \(frequency) Hz")
                if low == high { #expect(worst < 3) }
            }
            // An impulse has no delay.
            let quiet = MinimumPhase(transform: transform)
            for _ in 0..<4 { quiet.apply(gains, to: buffer([Double](repeating: 0, count: 240))) }
            let block = buffer((0..<240).map { $0 == 20 ? 10_000 : 0 })
            quiet.apply(gains, to: block)
            let before = (0..<20).map { abs(block.floats[$0]) }.max() ?? 0
            let after = (20..<60).map { abs(block.floats[$0]) }.max() ?? 0
            #expect(before < 0.02 * after)
        }
    }

    @Test("played audio is read between its samples, at any rate")
    func reference() {
        let audio = PlayedAudio()
        let audioOutput = PlayedAudioWriter(of: audio)
        let origin = Instant(nanoseconds: 40_000_000_000)
        func tone(_ place: Double) -> Double { 9_000 * sin(place * 0.07) }
        let first = Double(PlayedAudio.position(at: origin))
        for chunk in 0..<60 {
            let samples = (0..<480).map { Int16(tone(Double(chunk * 480 + $0)).rounded()) }
            samples.withUnsafeBufferPointer {
                audioOutput.play($0, channels: 1, from: origin + .milliseconds(10 * Int64(chunk)))
            }
        }
        let reference = PlayedReference(audio, transform: RealTransform(length: EchoBlock.transformLength))
        #expect(!reference.resume(at: first, pace: 0), "there is no alignment to resume")
        let (lag, pace) = (1_920.3, 2e-4)
        reference.align(lag: lag, at: first + 14_400, pace: pace)
        var worst = 0.0
        for block in 0..<20 {
            reference.advance(pace: pace)
            for index in 0..<240 {
                let place = 14_400 - lag + Double(block * 240 + index) * (1 + pace)
                worst = max(worst, abs(Double(reference.block.floats[index]) - tone(place)))
            }
        }
        #expect(worst < 1, "\(worst)")
        // Small jitter is no jump, but a gap is.
        let next = first + 14_400 + 20 * 240
        #expect(!reference.resume(at: next + 30, pace: pace))
        #expect(reference.resume(at: next + 4_000, pace: pace))
    }

    @Test("a sixth of the samples keeps speech without aliasing", arguments: [(500.0, 1.0), (2_500, 1), (5_500, 0)])
    func decimator(_ frequency: Double, _ gain: Double) {
        var decimator = Decimator(blockLength: 240)
        let target = VectorBuffer(count: 40)
        var power = 0.0
        for start in stride(from: 0, to: 9_600, by: 240) {
            let block = buffer((start..<start + 240).map { 1_000 * sin(2 * .pi * frequency * Double($0) / 48_000) })
            decimator.decimate(block, into: target)
            if start >= 2_400 { power += Double(target.energy) }
        }
        let level = (2 * power / 1_200).squareRoot() / 1_000
        #expect(abs(level - gain) < 0.05, "\(level)")
    }
}
