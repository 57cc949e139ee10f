import PCastCore

/// The share of a layer's bitrate that key frames take, and whether a new viewer may have one more made (the generic cell
/// rate algorithm of ITU-T I.371).
///
/// Every key frame spends the time in which its size is that share of the bitrate. A few may follow each other quickly. When
/// many viewers join one after another, they get one key frame in each such time and share it.
struct KeyFrameShare: Hashable, Sendable {
    /// Key frames that may be made in a row.
    static let burst: Int64 = 3

    /// When all that was spent is made up for; nil before the first key frame.
    private var whole: Instant?
    private var cost = TimeSpan.zero

    /// A key frame came.
    ///
    /// - Parameter cost: the time in which a key frame of this size takes its share.
    mutating func spend(_ cost: TimeSpan, at now: Instant) {
        // A source that makes more key frames by itself does not keep new viewers waiting for longer than a burst does.
        whole = min(max(whole ?? now, now) + cost, now + cost * Self.burst)
        self.cost = cost
    }

    /// Whether one more may be requested for a new viewer.
    func allowsRequest(at now: Instant) -> Bool {
        guard let whole else { return true }
        return whole - now <= cost * (Self.burst - 1)
    }
}
