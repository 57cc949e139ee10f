public import PCastMedia

/// Whether a hop of the network holds back what is sent over it: its estimate is too small for what is wanted, or it
/// loses more than repair makes up for.
///
/// | | begins | ends |
/// |---|---|---|
/// | estimate | below 85 % of what is wanted, for 1 s | 95 % of it or more, for 3 s |
/// | loss | 15 % of the packets or more, for 1 s | below 8 %, for 3 s |
///
/// Between the two thresholds nothing changes. Loss that a few percent of retransmissions repair is no limit (CC15).
public struct HopLimit: Sendable {
    /// What is known of a hop at the moment. What is nil is not known, and says nothing.
    public struct Evidence: Hashable, Sendable {
        /// What congestion control lets through.
        public var estimate: Bitrate?
        /// What is to be sent over the hop: what would be sent, where less is because hops like it are narrow.
        public var wanted: Bitrate?
        /// The share of packets that did not arrive when first sent, of the last second or so, 0 to 1.
        public var loss: Double?

        public init(estimate: Bitrate? = nil, wanted: Bitrate? = nil, loss: Double? = nil) {
            self.estimate = estimate
            self.wanted = wanted
            self.loss = loss
        }
    }

    private static let onset = TimeSpan.seconds(1 as Int64)
    private static let release = TimeSpan.seconds(3 as Int64)
    /// In percent of what is wanted.
    private static let tooSmall: Int64 = 85
    private static let enough: Int64 = 95
    private static let muchLoss = 0.15
    private static let littleLoss = 0.08
    /// For so long a limit is believed of which nothing is heard any more.
    private static let memory = TimeSpan.seconds(10 as Int64)

    private var isTooSmall = SustainedCondition(onset: onset, release: release)
    private var isLossy = SustainedCondition(onset: onset, release: release)
    private var lastEvidence: Instant?

    /// The estimate is too small at the moment, for however long.
    private(set) var isShort = false

    public init() {}

    public var holds: Bool { isTooSmall.holds || isLossy.holds }

    public mutating func observe(_ evidence: Evidence, at now: Instant) {
        let smallness = smallness(evidence)
        isShort = smallness ?? false
        let lossiness = lossiness(evidence)
        if smallness != nil || lossiness != nil {
            lastEvidence = now
        } else if let lastEvidence, now - lastEvidence >= Self.memory {
            self = HopLimit()
        }
        isTooSmall.observe(smallness, at: now)
        isLossy.observe(lossiness, at: now)
    }

    private func smallness(_ evidence: Evidence) -> Bool? {
        guard let estimate = evidence.estimate, let wanted = evidence.wanted, wanted.bitsPerSecond > 0 else {
            return nil
        }
        let percent = estimate.bitsPerSecond * 100 / wanted.bitsPerSecond
        return percent < Self.tooSmall ? true : percent >= Self.enough ? false : isTooSmall.holds
    }

    private func lossiness(_ evidence: Evidence) -> Bool? {
        guard let loss = evidence.loss else { return nil }
        return loss >= Self.muchLoss ? true : loss < Self.littleLoss ? false : isLossy.holds
    }
}
