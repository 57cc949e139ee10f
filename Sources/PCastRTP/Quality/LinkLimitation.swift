package import PCastCore

/// Determines whether a link limits what is sent over it, because the available bandwidth is too small, or because it
/// loses more than retransmissions can repair.
///
/// | | begins | ends |
/// |---|---|---|
/// | available bandwidth | below 85 % of the required bit rate, for 1 s | at least 95 % of it, for 3 s |
/// | loss | at least 15 % of the packets, for 1 s | below 8 %, for 3 s |
///
/// Between the two thresholds nothing changes. A loss of a few percent is not a limit, because retransmissions repair
/// it.
package struct LinkLimitation: Sendable {
    /// The current measurements of a link; nil for unknown values, which do not change the state.
    package struct Evidence: Hashable, Sendable {
        /// The available bandwidth according to congestion control.
        package var estimate: Bitrate?
        /// The bit rate that should be sent over the link, or would be sent if other links were not limited.
        package var wanted: Bitrate?
        /// The share of packets from 0 to 1 that did not arrive at first, of about the last second.
        package var loss: Double?

        /// Creates evidence.
        package init(estimate: Bitrate? = nil, wanted: Bitrate? = nil, loss: Double? = nil) {
            self.estimate = estimate
            self.wanted = wanted
            self.loss = loss
        }
    }

    /// The time after which a limit begins.
    private static let onset = TimeSpan.seconds(1 as Int64)
    /// The time after which a limit ends.
    private static let release = TimeSpan.seconds(3 as Int64)
    /// The percentage of the needed bit rate below which the available bandwidth is too small.
    private static let tooSmall: Int64 = 85
    /// The percentage of the needed bit rate from which on the available bandwidth suffices. Retransmissions and the
    /// variation of the bit rate need the rest of an estimate.
    private static let enough: Int64 = 95
    /// The loss at which a limit begins.
    private static let muchLoss = 0.15
    /// The loss below which a limit ends.
    private static let maximumLossToEnd = 0.08
    /// The time without evidence after which a limit ends.
    private static let memory = TimeSpan.seconds(10 as Int64)

    /// Whether the available bandwidth is too small.
    private var isTooSmall = SustainedCondition(onset: onset, release: release)
    /// Whether the loss is too large.
    private var isLossy = SustainedCondition(onset: onset, release: release)
    /// The time of the last evidence.
    private var lastEvidence: Instant?

    /// Whether the available bandwidth is too small at present, for however short a time.
    private(set) var isShort = false

    /// Creates a state without a limit.
    package init() {}

    /// Returns whether a bandwidth is too small for a bit rate.
    package static func isTooSmall(_ bandwidth: Bitrate, for needed: Bitrate) -> Bool {
        bandwidth.bitsPerSecond * 100 < needed.bitsPerSecond * tooSmall
    }

    /// Returns whether a bandwidth suffices for a bit rate.
    private static func suffices(_ bandwidth: Bitrate, for needed: Bitrate) -> Bool {
        bandwidth.bitsPerSecond * 100 >= needed.bitsPerSecond * enough
    }

    /// Returns the part of an estimate that media may use.
    package static func usable(of estimate: Bitrate) -> Bitrate {
        Bitrate(bitsPerSecond: estimate.bitsPerSecond * enough / 100)
    }

    /// Whether there is a limit.
    package var holds: Bool { isTooSmall.holds || isLossy.holds }

    /// Updates the state by the current measurements.
    package mutating func observe(_ evidence: Evidence, at now: Instant) {
        let smallness = smallness(evidence)
        isShort = smallness ?? false
        let lossiness = lossiness(evidence)
        if smallness != nil || lossiness != nil {
            lastEvidence = now
        } else if let lastEvidence, now - lastEvidence >= Self.memory {
            self = LinkLimitation()
        }
        isTooSmall.observe(smallness, at: now)
        isLossy.observe(lossiness, at: now)
    }

    /// Returns whether the available bandwidth is too small; the present state between the thresholds, and nil if
    /// unknown.
    private func smallness(_ evidence: Evidence) -> Bool? {
        guard let estimate = evidence.estimate, let wanted = evidence.wanted, wanted.bitsPerSecond > 0 else {
            return nil
        }
        if Self.isTooSmall(estimate, for: wanted) { return true }
        return Self.suffices(estimate, for: wanted) ? false : isTooSmall.holds
    }

    /// Returns whether the loss is too large; the present state between the thresholds, and nil if unknown.
    private func lossiness(_ evidence: Evidence) -> Bool? {
        guard let loss = evidence.loss else { return nil }
        return loss >= Self.muchLoss ? true : loss < Self.maximumLossToEnd ? false : isLossy.holds
    }
}

/// A condition with hysteresis: it becomes true after it was observed without interruption for some time, and false
/// after it was not observed for some time.
struct SustainedCondition: Sendable {
    /// The time after which it becomes true.
    private let onset: TimeSpan
    /// The time after which it becomes false.
    private let release: TimeSpan
    /// Whether the condition is true.
    private(set) var holds = false
    /// The time since which the opposite has been observed; nil if it is not.
    private var contrarySince: Instant?

    /// Creates a condition that is false.
    init(onset: TimeSpan, release: TimeSpan) {
        self.onset = onset
        self.release = release
    }

    /// Updates the condition.
    ///
    /// - Parameters:
    ///   - isSeen: Whether the condition is observed; nil if unknown, which changes nothing but interrupts the
    ///     observation.
    ///   - now: The current time.
    mutating func observe(_ isSeen: Bool?, at now: Instant) {
        guard let isSeen, isSeen != holds else {
            contrarySince = nil
            return
        }
        let since = contrarySince ?? now
        contrarySince = since
        guard now - since >= (isSeen ? onset : release) else { return }
        holds = isSeen
        contrarySince = nil
    }
}
