import PCastCore

/// Detects whether a queue on the path is due to cross traffic.
///
/// A flow that reacts to delay alone would give way to a download until it gets nothing (RFC 8836, section 2, requires
/// a fair share). A queue of this flow disappears when it sends less than arrives. A queue that stays for seconds
/// although the flow has reduced its rate is kept by another flow. Then loss decides about the rate, as for the other
/// flow. The idea is that of Copa's competitive mode (Arun and Balakrishnan, 2018).
struct CrossTrafficDetector: Sendable {
    /// The delay below which there is no queue.
    static let least = TimeSpan.milliseconds(15)
    /// The time after which a queue is considered cross traffic.
    static let timeout = interval * 3
    /// The interval of delay minima.
    private static let interval = TimeSpan.milliseconds(700)
    /// The time after which cross traffic is checked again, because it may have ended.
    static let recheck = TimeSpan.seconds(Int64(30))
    /// The share of the rate at the beginning of the queue to which the flow must have reduced its rate.
    private static let share = 0.75
    /// The factor by which the remembered peak rate decreases with each report; it halves within about a minute.
    private static let memory = 0.999
    /// The loss rate above which the queue is not considered cross traffic.
    private static let maximumLoss = 0.1

    /// Whether the queue is due to cross traffic.
    private(set) var isCrossTraffic = false
    /// The time at which the queue appeared, or at which cross traffic was detected; nil without a queue.
    private var since: Instant?
    /// The rate when the queue appeared.
    private var rateBefore = 0.0
    /// The highest recent rate without a queue.
    private var peak = 0.0

    /// Half of the peak rate, which is the fair share while another flow is active.
    var fairRate: Double { peak / 2 }

    /// The minimum delays of the current interval and of the two before.
    private var minima = (TimeSpan.zero, TimeSpan.zero, TimeSpan.zero)
    /// The beginning of the current interval.
    private var intervalStart: Instant?

    /// Processes a report.
    ///
    /// - Parameters:
    ///   - delay: The minimum queuing delay of the packets.
    ///   - rate: The rate that may be sent, in any unit.
    ///   - loss: The loss rate beyond that of the idle path, from 0 to 1.
    ///   - now: The current time.
    mutating func update(delay: TimeSpan, rate: Double, loss: Double, at now: Instant) {
        guard delay >= Self.least else {
            isCrossTraffic = false
            since = nil
            peak = max(peak * Self.memory, rate)
            return
        }
        guard let since, let intervalStart else { return begin(delay: delay, rate: rate, at: now) }
        if isCrossTraffic, now - since >= Self.recheck {
            isCrossTraffic = false
            return begin(delay: delay, rate: rate, at: now)
        }
        if now - intervalStart >= Self.interval {
            minima = (delay, minima.0, minima.1)
            self.intervalStart = now
        } else {
            minima.0 = min(minima.0, delay)
        }
        guard !isCrossTraffic, now - since >= Self.timeout else { return }
        let persists = minima.1 * 10 >= minima.2 * 7
        if persists, rate <= Self.share * rateBefore, loss < Self.maximumLoss {
            isCrossTraffic = true
            self.since = now
        }
    }

    /// Begins to observe a queue.
    private mutating func begin(delay: TimeSpan, rate: Double, at now: Instant) {
        since = now
        intervalStart = now
        peak = max(peak, rate)
        rateBefore = rate
        minima = (delay, delay, delay)
    }
}
