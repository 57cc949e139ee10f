package import PCastCore

/// The clock of an audio device relative to CLOCK_MONOTONIC. It maps the device's sample positions to instants.
///
/// The crystal of a sound card differs from the nominal rate by up to some hundred ppm and varies with temperature. A
/// driver reports "the device was at this sample at this instant" with jitter, which depends on its reporting interval
/// (a USB frame, a period, a jiffy).
///
/// A Kalman filter with two states, the offset and its rate of change, smooths these observations. It relies on the
/// first observations completely, and on each later one less. It receives the time as a parameter.
package struct SampleClock: Sendable {
    /// The result of an observation.
    package enum Decision: Hashable, Sendable {
        /// The observation was used.
        case followed
        /// The observation differs too much and was ignored.
        case outlier
        /// Several consecutive observations differed too much, so the clock restarted with this one.
        case jumped
    }

    /// The maximum difference between an observed and a predicted instant that counts as jitter.
    package static let tolerance = TimeSpan.milliseconds(30)

    /// The number of consecutive ignored observations after which the clock restarts.
    private static let timeout = 8

    // Variances in seconds squared. An observation has a standard deviation of about 2 ms, and crystals one of about
    // 150 ppm. The drift changes by about 2 ppm per square root of a second, so that the filter adapts within ten
    // seconds.
    static let observationVariance = 4e-6
    static let driftVariance = 2.25e-8
    static let driftWander = 4e-12

    /// The nominal sample rate of the device in hertz.
    package let rate: Double

    /// The state of the filter.
    struct State {
        /// The position and instant of the first observation. The other values are relative to it.
        var origin: Int64
        var start: Instant
        /// The position of the last observation in seconds of the device.
        var last: Double
        /// The delay of the device relative to its nominal rate at `last` in seconds, and its rate of change.
        var offset = 0.0
        var drift = 0.0
        var offsetVariance = SampleClock.observationVariance
        var covariance = 0.0
        var driftVariance = SampleClock.driftVariance
    }

    private var state: State?
    private var outlierCount = 0

    /// Creates a clock with the nominal sample rate in hertz. Traps if it is not positive.
    package init(rate: Int) {
        precondition(rate > 0)
        self.rate = Double(rate)
    }

    /// Whether there was an observation since the beginning or the last `restart`.
    package var isRunning: Bool { state != nil }

    /// The deviation of the device's rate from the nominal one in ppm; positive if the device is faster.
    package var drift: Double { -(state?.drift ?? 0) * 1e6 }

    /// Forgets the position of the device and keeps the drift. It is used after a stop, or after samples were lost.
    package mutating func restart() {
        outlierCount = 0
        kept = state.map { (drift: $0.drift, variance: $0.driftVariance) } ?? kept
        state = nil
    }

    private var kept: (drift: Double, variance: Double)?

    /// Processes an observation that the device was at `position` at `instant`. `position` is the number of samples
    /// since the device was started. Returns how the observation was used.
    @discardableResult
    package mutating func observe(position: Int64, at instant: Instant) -> Decision {
        guard var state else {
            begin(position, instant)
            return .followed
        }
        let seconds = Double(position - state.origin) / rate
        state.predict(to: seconds)
        let residual = (instant - state.start).seconds - seconds - state.offset
        if abs(residual) > Self.tolerance.seconds {
            outlierCount += 1
            guard outlierCount >= Self.timeout else { return .outlier }
            restart()
            begin(position, instant)
            return .jumped
        }
        outlierCount = 0
        state.correct(by: residual)
        self.state = state
        return .followed
    }

    /// Returns the instant at which the device is at a position; nil before the first observation.
    package func instant(of position: Double) -> Instant? {
        guard let state else { return nil }
        let seconds = (position - Double(state.origin)) / rate
        return state.start + TimeSpan(seconds: seconds + state.offset + state.drift * (seconds - state.last))
    }

    /// Returns the position of the device at an instant; nil before the first observation.
    package func position(at instant: Instant) -> Double? {
        guard let state else { return nil }
        let elapsed = (instant - state.start).seconds
        let seconds = (elapsed - state.offset + state.drift * state.last) / (1 + state.drift)
        return seconds * rate + Double(state.origin)
    }

    private mutating func begin(_ position: Int64, _ instant: Instant) {
        var state = State(origin: position, start: instant, last: 0)
        if let kept { (state.drift, state.driftVariance) = kept }
        self.state = state
    }
}

extension SampleClock.State {
    /// Advances the state to a position in seconds of the device.
    mutating func predict(to seconds: Double) {
        let passed = seconds - last
        last = seconds
        offset += drift * passed
        offsetVariance += passed * (2 * covariance + passed * driftVariance)
        covariance += passed * driftVariance
        driftVariance += abs(passed) * SampleClock.driftWander
    }

    /// Corrects the state by the difference between observation and prediction, weighted by their variances.
    mutating func correct(by residual: Double) {
        let total = offsetVariance + SampleClock.observationVariance
        let (offsetGain, driftGain) = (offsetVariance / total, covariance / total)
        offset += offsetGain * residual
        drift += driftGain * residual
        driftVariance -= driftGain * covariance
        covariance *= 1 - offsetGain
        offsetVariance *= 1 - offsetGain
    }
}
