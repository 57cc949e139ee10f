package import PCastCore

/// The conditions of one direction of a link, applied to each packet in this order: size, queue, rate, loss,
/// duplication, delay.
package struct LinkConditions: Hashable, Sendable {
    /// The delay between the end of the queue and arrival.
    package var delay: TimeSpan
    /// The maximum of the random delay that is added, which is evenly distributed.
    package var jitter: TimeSpan
    /// Whether the jitter may reorder packets. Otherwise a late packet delays those after it.
    package var reorders: Bool
    /// The model of packet loss.
    package var loss: Loss
    /// The rate of packets that arrive twice, from 0 to 1.
    package var duplication: Double
    /// The bit rate of the link; nil for a link without a queue.
    package var rate: Bitrate?
    /// The limit of the queue.
    package var queue: QueueLimit
    /// The periodic stall of the link; nil if there is none.
    package var stall: Stall?
    /// Whether sent packets are dropped. Packets that are queued or in flight still arrive.
    package var isDown: Bool
    /// The maximum size of a packet in bytes including its IP header. Larger ones are dropped without a message. Nil
    /// for no limit.
    package var maximumPacketSize: Int?

    /// Creates conditions. The default values describe a perfect link.
    package init(
        delay: TimeSpan = .zero, jitter: TimeSpan = .zero, reorders: Bool = true, loss: Loss = .none,
        duplication: Double = 0, rate: Bitrate? = nil, queue: QueueLimit = .span(.milliseconds(200)),
        stall: Stall? = nil, isDown: Bool = false, maximumPacketSize: Int? = nil
    ) {
        self.delay = delay
        self.jitter = jitter
        self.reorders = reorders
        self.loss = loss
        self.duplication = duplication
        self.rate = rate
        self.queue = queue
        self.stall = stall
        self.isDown = isDown
        self.maximumPacketSize = maximumPacketSize
    }

    /// A link without loss, delay and limits.
    package static let perfect = LinkConditions()
}

/// The model of packet loss on a link.
package enum Loss: Hashable, Sendable {
    case none
    /// Each packet is lost independently with this probability.
    case random(Double)
    case bursts(GilbertElliott)

    /// The average loss rate, from 0 to 1.
    package var share: Double {
        switch self {
        case .none: 0
        case .random(let share): share
        case .bursts(let model): model.share
        }
    }
}

/// The limit of a link's queue. Packets that exceed it are dropped (drop-tail).
package enum QueueLimit: Hashable, Sendable {
    case bytes(Int)
    /// The number of bytes that the link carries in this time.
    case span(TimeSpan)

    /// Returns the limit in bytes; nil if it is a time and the link has no rate.
    func bytes(at rate: Bitrate?) -> Int? {
        switch self {
        case .bytes(let count): count
        case .span(let span): rate.map { Int(Double($0.bitsPerSecond) / 8 * span.seconds) }
        }
    }
}

/// A periodic stall: no packet leaves the link during the last `span` of each `period`. The packets queue and then
/// leave at once, as on a radio channel that other stations occupy.
package struct Stall: Hashable, Sendable {
    /// The duration of a stall, and the time from the end of one stall to the end of the next.
    package let span, period: TimeSpan

    /// Creates a stall. Traps if `span` is negative or not less than `period`.
    package init(_ span: TimeSpan, each period: TimeSpan) {
        precondition(span >= .zero && span < period)
        self.span = span
        self.period = period
    }

    /// Returns the time until the end of the stall at an age of the link; nil between stalls.
    func remainder(at age: TimeSpan) -> TimeSpan? {
        let phase = age.nanoseconds % period.nanoseconds
        return phase >= (period - span).nanoseconds ? period - .nanoseconds(phase) : nil
    }
}

/// The conditions of a link over time, such as 4, then 0.8, then 4 Mbit/s.
package struct LinkSchedule: Hashable, Sendable {
    /// A change of the conditions.
    package struct Change: Hashable, Sendable {
        /// The time since the creation of the link.
        package let age: TimeSpan
        /// The conditions from that time.
        package let conditions: LinkConditions
    }

    /// The conditions at the beginning.
    package let initial: LinkConditions
    /// The changes in the order of time.
    package private(set) var changes: [Change] = []

    /// Creates a schedule without changes.
    package init(_ initial: LinkConditions) { self.initial = initial }

    /// Returns this schedule with one more change, which modifies the conditions that are valid just before. Traps if
    /// `age` is before the last change.
    package func changed(at age: TimeSpan, _ change: (inout LinkConditions) -> Void) -> LinkSchedule {
        precondition(age >= changes.last?.age ?? .zero)
        var conditions = changes.last?.conditions ?? initial
        change(&conditions)
        var schedule = self
        schedule.changes.append(Change(age: age, conditions: conditions))
        return schedule
    }
}

/// The model of bursty loss: a Markov chain of a good and a bad state (Gilbert 1960, Elliott 1963), with a step for
/// each packet.
package struct GilbertElliott: Hashable, Sendable {
    /// The probabilities of a change from the good to the bad state, and from the bad to the good one.
    package let toBad, toGood: Double
    /// The loss rates in the two states, from 0 to 1.
    package let lossInGood, lossInBad: Double

    /// Creates a model from its probabilities, all from 0 to 1.
    package init(toBad: Double, toGood: Double, lossInGood: Double = 0, lossInBad: Double = 1) {
        self.toBad = toBad
        self.toGood = toGood
        self.lossInGood = lossInGood
        self.lossInBad = lossInBad
    }

    /// Creates a model with a loss rate of `share` and bursts of `length` packets on average. No packet is lost between
    /// bursts. Traps if `share` is not in the range from 0 to below 1, or if `length` is less than 1.
    package init(share: Double, length: Double) {
        precondition(share >= 0 && share < 1 && length >= 1)
        // A burst has 1 / toGood packets on average. The share of the bad state is toBad / (toBad + toGood).
        let toGood = 1 / length
        self.init(toBad: min(1, toGood * share / (1 - share)), toGood: toGood)
    }

    /// The average loss rate, from 0 to 1.
    package var share: Double {
        guard toBad + toGood > 0 else { return lossInGood }
        let bad = toBad / (toBad + toGood)
        return bad * lossInBad + (1 - bad) * lossInGood
    }
}
