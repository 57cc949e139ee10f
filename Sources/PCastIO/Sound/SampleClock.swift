public import PCastMedia

/// The clock of a sound device as CLOCK_MONOTONIC sees it: which of its samples belongs to which instant (COD8).
///
/// A sound card has a crystal of its own, which is off by up to some hundred millionths and wanders with warmth. What a
/// driver tells, "at this instant the device was at this sample", jitters by how often the card reports (a USB frame, a
/// period, a jiffy). A Kalman filter of two states, how far the device is off and how fast that changes, makes a smooth
/// line of it: it believes the first observations at once, and ever less of each as it learns. It is told the time.
public struct SampleClock: Sendable {
    /// What became of an observation.
    public enum Verdict: Hashable, Sendable {
        /// It fits.
        case followed
        /// It is so far off that it is left out, as one that nobody believes.
        case doubted
        /// Those before were off as well: the clock begins anew with this one.
        case jumped
    }

    /// Further off than this is no jitter.
    public static let tolerance = TimeSpan.milliseconds(30)

    /// Doubtful observations after which they are believed.
    private static let patience = 8

    // Variances, in seconds squared. One observation is off by some 2 ms; crystals differ by some 150 ppm; and by some 2 ppm
    // in the root of a second they wander, which makes the filter follow within ten seconds.
    static let observationVariance = 4e-6
    static let driftVariance = 2.25e-8
    static let driftWander = 4e-12

    /// Samples a second, as the device says.
    public let rate: Double

    /// The line, and how sure it is.
    struct State {
        /// Where and when the line was begun; the other fields are relative to it.
        var origin: Int64
        var start: Instant
        /// Where the last observation was, in the device's seconds.
        var last: Double
        /// How much later than by the nominal rate the device is at `last`, in seconds, and how fast that grows.
        var offset = 0.0
        var drift = 0.0
        var offsetVariance = SampleClock.observationVariance
        var covariance = 0.0
        var driftVariance = SampleClock.driftVariance
    }

    private var state: State?
    private var doubts = 0

    /// - Parameter rate: samples a second, as the device says; positive.
    public init(rate: Int) {
        precondition(rate > 0)
        self.rate = Double(rate)
    }

    /// Whether there has been an observation since the beginning or the last `restart`.
    public var isRunning: Bool { state != nil }

    /// How much faster than it says the device is, in parts per million of the monotonic clock.
    public var drift: Double { -(state?.drift ?? 0) * 1e6 }

    /// Forgets where the device was, and keeps what its crystal is like: after a stop, or a loss of samples.
    public mutating func restart() {
        doubts = 0
        kept = state.map { (drift: $0.drift, variance: $0.driftVariance) } ?? kept
        state = nil
    }

    private var kept: (drift: Double, variance: Double)?

    /// Takes in that the device was at `position` at `instant`.
    ///
    /// - Parameter position: samples since the device was started.
    @discardableResult
    public mutating func observe(position: Int64, at instant: Instant) -> Verdict {
        guard var state else {
            begin(position, instant)
            return .followed
        }
        let place = Double(position - state.origin) / rate
        state.predict(to: place)
        let residual = (instant - state.start).seconds - place - state.offset
        if abs(residual) > Self.tolerance.seconds {
            doubts += 1
            guard doubts >= Self.patience else { return .doubted }
            restart()
            begin(position, instant)
            return .jumped
        }
        doubts = 0
        state.correct(by: residual)
        self.state = state
        return .followed
    }

    /// When the device is at a position; nil before the first observation.
    public func instant(of position: Double) -> Instant? {
        guard let state else { return nil }
        let place = (position - Double(state.origin)) / rate
        return state.start + TimeSpan(seconds: place + state.offset + state.drift * (place - state.last))
    }

    /// Where the device is at an instant; nil before the first observation.
    public func position(at instant: Instant) -> Double? {
        guard let state else { return nil }
        let elapsed = (instant - state.start).seconds
        let place = (elapsed - state.offset + state.drift * state.last) / (1 + state.drift)
        return place * rate + Double(state.origin)
    }

    private mutating func begin(_ position: Int64, _ instant: Instant) {
        var state = State(origin: position, start: instant, last: 0)
        if let kept { (state.drift, state.driftVariance) = kept }
        self.state = state
    }
}

extension SampleClock.State {
    /// Moves the line on to a place in the device's seconds.
    mutating func predict(to place: Double) {
        let passed = place - last
        last = place
        offset += drift * passed
        offsetVariance += passed * (2 * covariance + passed * driftVariance)
        covariance += passed * driftVariance
        driftVariance += abs(passed) * SampleClock.driftWander
    }

    /// Bends the line toward what was observed, by as much as that can be relied on.
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
