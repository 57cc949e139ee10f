import Glibc
import PCastCore
import PCastIO

/// Removes the reference signal from captured audio: it estimates the delay, tracks the clocks, and runs the filters of
/// all channels. Only one thread may use it at a time. It does not allocate.
final class EchoCancellationProcessor {
    /// The largest jitter of capture times, in samples.
    private static let jitter: Int64 = 240

    /// The range of the expected power of an echo.
    private static let maximumGain: Float = 10
    private static let minimumGain: Float = 1e-5

    private let channels: Int
    private let audio: PlayedAudio
    private let reference: PlayedReference
    private let tracker: DriftTracker
    private let microphones: [EchoCancelledChannel]
    private let estimator = DelayEstimator()
    private var choice = DelayChoice()

    private let recalled = VectorBuffer(count: EchoBlock.sampleCount)

    /// The reference at capture time for the estimator, and the position of its next block.
    private let undelayed = VectorBuffer(count: EchoBlock.sampleCount)
    private var undelayedPosition: Int64 = 0
    private var samples = [Int16](repeating: 0, count: EchoBlock.sampleCount)

    init(channels: Int, played audio: PlayedAudio) {
        self.channels = channels
        self.audio = audio
        let transform = RealTransform(length: EchoBlock.transformLength)
        reference = PlayedReference(audio, transform: transform)
        tracker = DriftTracker(transform: transform)
        microphones = (0..<channels).map { _ in EchoCancelledChannel(transform: transform) }
    }

    /// The delay of the echo; nil until it is known.
    var delay: TimeSpan? { reference.lag.map { TimeSpan(seconds: $0 / 48_000) + DelayChoice.lead } }

    /// The rate by which the microphone's clock is faster than that of the audio output, in parts per million.
    var drift: Double { Double(tracker.drift) * 1e6 }

    /// Cleans interleaved samples in place. `instant` is the capture time of the first one. `isResumed` is whether
    /// there was a pause before.
    func clean(_ samples: inout [Int16], capturedAt instant: Instant, isResumed: Bool) {
        let start = Double(instant.nanoseconds) * Double(AudioFrame.sampleRate) / 1e9
        if isResumed {
            estimator.pause()
            for microphone in microphones { microphone.resume() }
        }
        if reference.resume(at: start, pace: Double(tracker.pace)) {
            tracker.restart()
            for microphone in microphones { microphone.history.removeAll() }
        }
        let length = EchoBlock.sampleCount * channels
        for block in 0..<samples.count / length {
            let time = start + Double(block * EchoBlock.sampleCount)
            samples.withUnsafeMutableBufferPointer { samples in
                clean(samples.baseAddress! + block * length, at: time)
            }
        }
    }

    private func clean(_ samples: UnsafeMutablePointer<Int16>, at time: Double) {
        for (channel, microphone) in microphones.enumerated() {
            for index in 0..<EchoBlock.sampleCount {
                microphone.block.floats[index] = Float(samples[index * channels + channel])
            }
        }
        align(at: time)
        for microphone in microphones { microphone.history.append(microphone.block) }
        guard reference.lag != nil else { return }
        reference.advance(pace: Double(tracker.pace))
        // This must precede the cleaning of the block in place.
        tracker.observe(microphones[0].block, learnt: microphones[0].filter.path, far: reference.far)
        for (channel, microphone) in microphones.enumerated() {
            if !microphone.clean(reference), channel == 0 { tracker.restart() }
            for index in 0..<EchoBlock.sampleCount {
                let sample = max(-32_768, min(32_767, microphone.block.floats[index].rounded()))
                samples[index * channels + channel] = Int16(sample)
            }
        }
    }

    /// Estimates the delay and restarts if it has changed.
    private func align(at time: Double) {
        if abs(undelayedPosition - Int64(time)) > Self.jitter { undelayedPosition = Int64(time) }
        samples.withUnsafeMutableBufferPointer { audio.read(from: undelayedPosition, into: $0) }
        undelayedPosition += Int64(samples.count)
        for index in samples.indices { undelayed.floats[index] = Float(samples[index]) }
        guard let estimate = estimator.observe(played: undelayed, captured: microphones[0].block) else { return }
        let gain = max(Self.minimumGain, min(estimate.gain, Self.maximumGain))
        for microphone in microphones { microphone.expect(gain: gain) }
        let chosen = reference.lag.map { TimeSpan(seconds: $0 / 48_000) }
        guard let lag = choice.consider(estimate, chosen: chosen, isHelping: microphones[0].isHelping) else { return }
        for microphone in microphones { microphone.restart(gain: gain) }
        tracker.restart()
        learn(lag: lag.seconds * Double(AudioFrame.sampleRate), until: time)
    }

    /// Aligns the reference and learns from the recent audio. The delay is known after half a second of audio, and the
    /// filter must then already have adapted.
    private func learn(lag: Double, until time: Double) {
        let count = microphones[0].history.count
        let pace = Double(tracker.pace)
        let length = Double(count * EchoBlock.sampleCount) * (1 + pace)
        reference.align(lag: lag, at: time - length, pace: pace)
        for ago in stride(from: count, to: 0, by: -1) {
            reference.advance(pace: pace)
            for (channel, microphone) in microphones.enumerated() {
                microphone.history.copy(ago, into: recalled)
                if channel == 0 { tracker.observe(recalled, learnt: microphone.filter.path, far: reference.far) }
                microphone.filter.cancel(recalled, far: reference.far)
            }
        }
    }
}

/// Decides the delay of the reference signal from successive estimates.
///
/// Two estimates must agree, because single ones in the first half second may be wrong. A delay is kept while the
/// filter covers the echo from there on, or while it cancels the echo whatever the estimates say.
struct DelayChoice {
    /// The reference is read earlier than the estimated delay by this time, because the first arrival is not always the
    /// loudest.
    static let lead = TimeSpan.milliseconds(8)

    /// The ratio of a peak to its surroundings below which it may be noise, which reaches 5.
    private static let confidence: Float = 7

    /// The power of the faintest echo that is cancelled.
    private static let gain: Float = 1e-4

    /// The largest difference of two estimates that agree.
    private static let agreement = TimeSpan.milliseconds(6)

    /// The range around the lead in which the filter covers the start of the echo.
    private static let reach = (early: TimeSpan.milliseconds(-6), late: TimeSpan.milliseconds(30))

    /// The number of successive contradicting estimates before the delay changes: half a second of audio.
    private static let timeout = 4

    private var last: TimeSpan?
    private var contradictions = 0

    /// Adds an estimate. `chosen` is the current delay; nil at the start. `isHelping` is whether the filter cancels
    /// most of the echo. Returns a new delay; nil to keep the current one.
    mutating func consider(_ estimate: DelayEstimator.Estimate, chosen: TimeSpan?, isHelping: Bool) -> TimeSpan? {
        let isBelievable =
            estimate.confidence > Self.confidence && estimate.gain > Self.gain
            && estimate.delay > DelayEstimator.earliestDelay + .milliseconds(1)
        guard isBelievable else { return nil }
        let agrees = last.map { (estimate.delay - $0).magnitude < Self.agreement } ?? false
        last = estimate.delay
        let choice = estimate.delay - Self.lead
        if let chosen {
            let contradicts = choice - chosen < Self.reach.early || choice - chosen > Self.reach.late
            contradictions = agrees && contradicts ? contradictions + 1 : 0
            guard contradictions >= Self.timeout, !isHelping else { return nil }
        } else if !agrees {
            return nil
        }
        contradictions = 0
        return choice
    }
}

/// Measures the difference between the clocks of the microphone and the audio output from the audio itself.
///
/// While the clocks differ, an older echo path predicts the echo slightly too early or too late. The phase between the
/// prediction and the captured audio grows with the frequency and gives the time difference. A proportional-integral
/// controller changes the rate at which the reference is read until there is none left.
final class DriftTracker {
    /// The time constant, in seconds, by which the compared path lags.
    private static let age: Float = 0.3

    /// The time constant, in seconds, of the phase averages.
    private static let memory: Float = 0.15

    /// The gains of the controller, in 1/s and 1/s². It settles within about a second.
    private static let proportional: Float = 4
    private static let integral: Float = 8

    /// The largest plausible clock difference.
    private static let limit: Float = 1e-3

    /// The weight of phases that noise alone produces.
    private static let noiseWeight: Float = 2e8

    /// The frequency band. Higher frequencies rotate too far between two blocks, and lower ones contain little
    /// information.
    private static let band = EchoBlock.bin(hertz: 150)..<EchoBlock.bin(hertz: 4_000)

    /// The relative rate by which the reference must be read faster than the microphone.
    private(set) var pace: Float = 0

    private let transform: RealTransform
    private let path = EchoPath()
    private let expected = Spectrum(count: EchoBlock.binCount)
    private let captured = Spectrum(count: EchoBlock.binCount)
    private let coherence = Coherence(memory: exp(-1 / (DriftTracker.memory * EchoBlock.rate)))
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    /// The integral part of the rate.
    private(set) var drift: Float = 0
    private var group = 0

    init(transform: RealTransform) { self.transform = transform }

    /// Restarts after the path was reset or the reference was moved. The clock difference is kept.
    func restart() {
        path.clear()
        coherence.clear()
        pace = drift
    }

    /// Adds a captured block and the path that was learned from it.
    func observe(_ block: VectorBuffer, learnt: EchoPath, far: FarEnd) {
        path.apply(to: far, into: expected)
        transform.inverse(expected, into: samples.floats)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        samples.floats.update(repeating: 0, count: start)
        transform.forward(samples.floats, into: expected)
        (samples.floats + start).update(from: block.floats, count: EchoBlock.sampleCount)
        transform.forward(samples.floats, into: captured)
        coherence.observe(captured, expected)
        // A quarter of the partitions per block, right after they have been constrained.
        group = (group + 1) % 4
        let share = min(1, 4 / (Self.age * EchoBlock.rate))
        for part in stride(from: group, to: EchoBlock.partCount, by: 4) {
            path.follow(learnt, part: part, share: share)
        }
        let late = lateness()
        drift = max(-Self.limit, min(Self.limit, drift - Self.integral * late / EchoBlock.rate))
        pace = max(-Self.limit, min(Self.limit, drift - Self.proportional * late))
    }

    /// Returns the time, in seconds, by which the echo is later than predicted: the slope of the phase over frequency,
    /// weighted by its reliability.
    private func lateness() -> Float {
        var (sum, weights) = (Float(0), Self.noiseWeight)
        for bin in Self.band {
            let (real, imaginary) = (coherence.cross.realFloats[bin], coherence.cross.imaginaryFloats[bin])
            let power = coherence.power.floats[bin] * coherence.otherPower.floats[bin] + 1e4
            let similarity = min((real * real + imaginary * imaginary) / power, 0.98)
            let weight = similarity / (1 - similarity)
            let frequency = Float(bin) * EchoBlock.binWidth
            sum -= weight * frequency * atan2f(imaginary, real)
            weights += weight * frequency * frequency
        }
        return sum / (2 * .pi * weights)
    }
}
