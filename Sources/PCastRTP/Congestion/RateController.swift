import PCastCore

/// The bit rate that the delay of the path allows: it increases slowly without a queue, and decreases at once with one.
///
/// It follows libwebrtc's `AimdRateControl` (draft-ietf-rmcat-gcc-02, section 5.5). An increase is 8 % per second. Near
/// the capacity of the path it is half a packet per response time, which is the round-trip time plus 100 ms. A decrease
/// is to 0.85 of the arriving bit rate. The rate is at most 1.5 times the arriving bit rate plus 10 kbit/s. A kilobit
/// has 1000 bits.
struct RateController: Sendable {
    /// The factor of a decrease.
    static let beta = 0.85
    /// The factor of the increase per second.
    static let growth = 1.08

    private enum State { case hold, increase }

    private var state = State.hold
    private var capacity = LinkCapacity()
    private var changedAt: Instant?
    private var decreasedAt: Instant?
    /// The bit rate in kilobits per second.
    private(set) var kilobits: Double
    private let range: ClosedRange<Double>

    /// The round-trip time.
    var roundTrip = TimeSpan.milliseconds(200)

    init(_ start: Bitrate, in range: ClosedRange<Bitrate>) {
        kilobits = start.kilobits
        self.range = range.lowerBound.kilobits...range.upperBound.kilobits
    }

    /// The time of the last decrease; nil if there was none.
    var lastDecreaseTime: Instant? { decreasedAt }

    /// Updates the rate after a feedback message.
    ///
    /// - Parameters:
    ///   - usage: The use of the path.
    ///   - acknowledged: The arriving bit rate in kilobits per second; nil if it is unknown.
    ///   - isApplicationLimited: Whether the arriving bit rate is limited by the application. The rate then decreases
    ///     from its own value, so that it still suffices for video after a long time with only audio.
    ///   - now: The current time.
    mutating func update(
        _ usage: OveruseDetector.Usage, acknowledged: Double?, isApplicationLimited: Bool, at now: Instant
    ) {
        switch usage {
        case .overusing:
            if let acknowledged {
                let arriving = isApplicationLimited ? max(acknowledged, kilobits) : acknowledged
                if mayReduceFurther(arriving, at: now) { decrease(to: arriving, at: now) }
            } else if mayReduceFurther(kilobits / 2 - 0.001, at: now) {
                // The arriving bit rate is unknown, so the rate is halved.
                set(kilobits / 2, at: now)
            }
        case .underusing: state = .hold
        case .normal:
            if state == .hold {
                changedAt = now
                state = .increase
            }
            increase(acknowledged, at: now)
        }
    }

    /// Updates the rate while cross traffic keeps the queue full. Loss decreases the rate, and without loss it
    /// increases by 15 % per second.
    ///
    /// - Parameters:
    ///   - isLosing: Whether packets were lost beyond the loss of the idle path.
    ///   - fairRate: The upper bound of the increase, in kilobits per second.
    ///   - acknowledged: The arriving bit rate in kilobits per second; nil if it is unknown.
    ///   - now: The current time.
    mutating func compete(isLosing: Bool, fairRate: Double, acknowledged: Double?, at now: Instant) {
        if isLosing {
            if let decreasedAt, now - decreasedAt < roundTrip + Self.competingPause { return }
            set(Self.beta * kilobits, at: now)
            decreasedAt = now
            return
        }
        let passed = min(max((now - (changedAt ?? now)).seconds, 0), 1)
        let limit = min(1.5 * (acknowledged ?? kilobits) + 10, fairRate)
        if kilobits < limit { kilobits = min(kilobits * (1 + Self.crossTrafficGrowth * passed), range.upperBound) }
        changedAt = now
    }

    /// The increase per second while cross traffic is present.
    private static let crossTrafficGrowth = 0.15
    /// The time between decreases while cross traffic is present, to which the round-trip time is added.
    private static let competingPause = TimeSpan.milliseconds(100)

    /// Limits the rate to the arriving bit rate while a queue exists, because that is the capacity of the path.
    mutating func filled(at full: Double, at now: Instant) {
        if full < kilobits { set(full, at: now) }
    }

    /// Sets the rate after a queue is drained. `full` is the bit rate that arrived while it existed, of which 0.85 is
    /// used.
    mutating func drained(full: Double, at now: Instant) {
        if Self.beta * full > kilobits { set(Self.beta * full, at: now) }
    }

    /// Sets the rate to what a probe measured.
    mutating func probed(_ kilobits: Double, at now: Instant) {
        capacity.probed(kilobits)
        set(kilobits, at: now)
    }

    /// Returns whether the rate may be decreased: once in a round-trip time (10 to 200 ms), or if less than half of it
    /// arrives.
    private func mayReduceFurther(_ acknowledged: Double, at now: Instant) -> Bool {
        guard let changedAt else { return true }
        let interval = min(max(roundTrip, .milliseconds(10)), .milliseconds(200))
        return now - changedAt >= interval || acknowledged < kilobits / 2
    }

    /// Sets the rate within the range.
    private mutating func set(_ kilobits: Double, at now: Instant) {
        let bounded = min(max(kilobits, range.lowerBound), range.upperBound)
        if bounded < self.kilobits { decreasedAt = now }
        self.kilobits = bounded
        changedAt = now
    }

    /// Increases the rate according to the time since the last change.
    private mutating func increase(_ acknowledged: Double?, at now: Instant) {
        let acknowledged = acknowledged ?? kilobits
        if acknowledged > capacity.upperBound { capacity.reset() }
        let limit = 1.5 * acknowledged + 10
        if kilobits < limit {
            let passed = max((now - (changedAt ?? now)).seconds, 0)
            let step =
                capacity.estimate == nil ? multiplicativeStep(passed) : passed * nearCapacityKilobitsPerSecond
            kilobits = min(min(kilobits + step, limit), range.upperBound)
        }
        changedAt = now
    }

    /// Returns the increase by 8 % per second, in kilobits per second.
    private func multiplicativeStep(_ passed: Double) -> Double {
        // The exponential is computed by its first terms, because a power function takes too long.
        let exponent = 0.0769610411 * min(passed, 1)
        return max(kilobits * (exponent + exponent * exponent / 2), min(passed, 1))
    }

    /// The increase near the capacity, in kilobits per second each second. As in libwebrtc, it is half a packet per
    /// response time, for 30 frames per second in packets of 1200 bytes.
    private var nearCapacityKilobitsPerSecond: Double {
        let frame = kilobits / 30
        let packets = max((frame / 9.6).rounded(.up), 1)
        return max(4, frame / packets / (roundTrip.seconds + 0.1))
    }

    /// Decreases the rate to 0.85 of the arriving bit rate.
    private mutating func decrease(to acknowledged: Double, at now: Instant) {
        var decreased = Self.beta * acknowledged
        // The arriving bit rate exceeds the rate. The known capacity of the path is used instead.
        if decreased > kilobits, let estimate = capacity.estimate { decreased = Self.beta * estimate }
        if acknowledged < capacity.lowerBound { capacity.reset() }
        capacity.filled(at: acknowledged)
        state = .hold
        set(min(decreased, kilobits), at: now)
        decreasedAt = now
    }
}

extension Bitrate {
    /// The bit rate in kilobits per second, with a fraction.
    var kilobits: Double { Double(bitsPerSecond) / 1000 }

    /// Creates a bit rate from kilobits per second, limited to values from 0 to 10^12.
    init(kilobits: Double) { self.init(bitsPerSecond: Int64(min(max(kilobits, 0), 1e12) * 1000)) }
}

/// The estimated capacity of the path and its uncertainty (libwebrtc's `LinkCapacityEstimator`).
struct LinkCapacity: Sendable {
    /// The weight of a sample that overuse measured.
    private static let weight = 0.05
    /// The weight of a sample that a probe measured.
    private static let probeWeight = 0.5

    /// The capacity in kilobits per second; nil if it is unknown.
    private(set) var estimate: Double?
    /// The normalized variance of the estimate.
    private var deviation = 0.4

    /// Three standard deviations in kilobits per second.
    private var spread: Double { 3 * (deviation * (estimate ?? 0)).squareRoot() }

    /// The upper bound of the capacity in kilobits per second; infinite if it is unknown.
    var upperBound: Double { estimate.map { $0 + spread } ?? .infinity }
    /// The lower bound of the capacity in kilobits per second; 0 if it is unknown.
    var lowerBound: Double { estimate.map { max(0, $0 - spread) } ?? 0 }

    /// Forgets the capacity.
    mutating func reset() { estimate = nil }
    /// Adds the bit rate that arrived while the path was full.
    mutating func filled(at kilobits: Double) { update(kilobits, weight: Self.weight) }
    /// Adds the bit rate that a probe measured.
    mutating func probed(_ kilobits: Double) { update(kilobits, weight: Self.probeWeight) }

    private mutating func update(_ sample: Double, weight: Double) {
        let estimate = estimate.map { (1 - weight) * $0 + weight * sample } ?? sample
        let error = estimate - sample
        deviation = (1 - weight) * deviation + weight * error * error / max(estimate, 1)
        deviation = min(max(deviation, 0.4), 2.5)
        self.estimate = estimate
    }
}
