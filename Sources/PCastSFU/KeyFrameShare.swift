import PCastCore

/// The share of a layer's bit rate that key frames use. It decides whether a key frame may be requested for a new
/// viewer (generic cell rate algorithm, ITU-T I.371).
///
/// Every key frame costs the time in which its size is that share of the bit rate. A few may follow each other quickly.
/// When many viewers join one after another, they share one key frame in each such time.
struct KeyFrameShare: Hashable, Sendable {
    /// The number of key frames that may be requested in a row.
    static let burst: Int64 = 3

    /// The time at which all costs are compensated; nil before the first key frame.
    private var whole: Instant?
    private var cost = TimeSpan.zero

    /// Accounts for a key frame that arrived. Its cost is the time in which a key frame of its size uses the share.
    mutating func charge(_ cost: TimeSpan, at now: Instant) {
        // A source that makes more key frames by itself delays new viewers by no more than a burst.
        whole = min(max(whole ?? now, now) + cost, now + cost * Self.burst)
        self.cost = cost
    }

    /// Whether another key frame may be requested for a new viewer.
    func allowsRequest(at now: Instant) -> Bool {
        guard let whole else { return true }
        return whole - now <= cost * (Self.burst - 1)
    }
}
