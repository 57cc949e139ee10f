import PCastMedia

/// The rate that the delay of the path allows: up slowly while there is no queue, down at once when there is one.
///
/// After libwebrtc's `AimdRateControl`: by 8 % a second far from the path's capacity, near it by half a packet in the
/// response time (the round trip and 100 ms); down to 0.85 of what arrives; never beyond 1.5 times what arrives and
/// 10 kbit/s (CC7). A kilobit is 1000 bits.
struct RateController: Sendable {
    static let beta = 0.85
    static let growth = 1.08

    private enum State { case hold, increase }

    private var state = State.hold
    private var capacity = LinkCapacity()
    private var changedAt: Instant?
    private var decreasedAt: Instant?
    private(set) var kilobits: Double
    private let range: ClosedRange<Double>

    /// To the peer and back.
    var roundTrip = TimeSpan.milliseconds(200)

    init(_ start: Bitrate, in range: ClosedRange<Bitrate>) {
        kilobits = start.kilobits
        self.range = range.lowerBound.kilobits...range.upperBound.kilobits
    }

    /// When it last went down.
    var lastDecreaseTime: Instant? { decreasedAt }

    /// - Parameters:
    ///   - acknowledged: kilobits a second that arrive; nil while unknown.
    ///   - isApplicationLimited: what arrives is what was sent, and no measure of the path: then it goes down by steps
    ///     of the rate, so that an hour of sound alone leaves room for a picture (CC9).
    mutating func update(
        _ usage: OveruseDetector.Usage, acknowledged: Double?, isApplicationLimited: Bool, at now: Instant
    ) {
        switch usage {
        case .overusing:
            if let acknowledged {
                let arriving = isApplicationLimited ? max(acknowledged, kilobits) : acknowledged
                if mayReduceFurther(arriving, at: now) { decrease(to: arriving, at: now) }
            } else if mayReduceFurther(kilobits / 2 - 0.001, at: now) {
                // Nothing is known of what arrives: half.
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

    /// Another keeps the queue full: loss says when it is too much, and 15 % a second are tried else.
    ///
    /// - Parameters:
    ///   - isLosing: packets were lost that the path does not lose anyway.
    ///   - fairRate: more than this is not tried.
    mutating func compete(isLosing: Bool, fairRate: Double, acknowledged: Double?, at now: Instant) {
        if isLosing {
            if let decreasedAt, now - decreasedAt < roundTrip + Self.competingPause { return }
            set(Self.beta * kilobits, at: now)
            decreasedAt = now
            return
        }
        let passed = min(max((now - (changedAt ?? now)).seconds, 0), 1)
        let limit = min(1.5 * (acknowledged ?? kilobits) + 10, fairRate)
        if kilobits < limit { kilobits = min(kilobits * (1 + Self.competingGrowth * passed), range.upperBound) }
        changedAt = now
    }

    private static let competingGrowth = 0.15
    private static let competingPause = TimeSpan.milliseconds(100)

    /// A queue stands, so that this is all that passes.
    mutating func filled(at full: Double, at now: Instant) {
        if full < kilobits { set(full, at: now) }
    }

    /// The queue is gone, and this much passed while it stood: 0.85 of that is a fair beginning.
    mutating func drained(full: Double, at now: Instant) {
        if Self.beta * full > kilobits { set(Self.beta * full, at: now) }
    }

    /// A probe measured what the path carries.
    mutating func probed(_ kilobits: Double, at now: Instant) {
        capacity.probed(kilobits)
        set(kilobits, at: now)
    }

    /// Once in a round trip (10 to 200 ms), or when less than half arrives.
    private func mayReduceFurther(_ acknowledged: Double, at now: Instant) -> Bool {
        guard let changedAt else { return true }
        let interval = min(max(roundTrip, .milliseconds(10)), .milliseconds(200))
        return now - changedAt >= interval || acknowledged < kilobits / 2
    }

    private mutating func set(_ kilobits: Double, at now: Instant) {
        let bounded = min(max(kilobits, range.lowerBound), range.upperBound)
        if bounded < self.kilobits { decreasedAt = now }
        self.kilobits = bounded
        changedAt = now
    }

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

    private func multiplicativeStep(_ passed: Double) -> Double {
        // Growth of 8 % a second, by the first terms of its series: a power takes longer than a packet should.
        let exponent = 0.0769610411 * min(passed, 1)
        return max(kilobits * (exponent + exponent * exponent / 2), min(passed, 1))
    }

    /// Half a packet of a frame in the response time, as libwebrtc reckons it: at 30 frames a second in packets of
    /// 1200 bytes.
    private var nearCapacityKilobitsPerSecond: Double {
        let frame = kilobits / 30
        let packets = max((frame / 9.6).rounded(.up), 1)
        return max(4, frame / packets / (roundTrip.seconds + 0.1))
    }

    private mutating func decrease(to acknowledged: Double, at now: Instant) {
        var decreased = Self.beta * acknowledged
        // Less than a path that was known to carry more: that is believed a little longer.
        if decreased > kilobits, let estimate = capacity.estimate { decreased = Self.beta * estimate }
        if acknowledged < capacity.lowerBound { capacity.reset() }
        capacity.filled(at: acknowledged)
        state = .hold
        set(min(decreased, kilobits), at: now)
        decreasedAt = now
    }
}

extension Bitrate {
    /// With fraction.
    var kilobits: Double { Double(bitsPerSecond) / 1000 }

    init(kilobits: Double) { self.init(bitsPerSecond: Int64(min(max(kilobits, 0), 1e12) * 1000)) }
}
