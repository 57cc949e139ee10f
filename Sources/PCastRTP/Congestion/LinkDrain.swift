public import PCastMedia

/// A path that was filled beyond what it carries: video is left out until the queue there is gone and what comes next fits.
///
/// What is sent on meanwhile only waits, or is lost and asked for again, and a key frame in the midst of it, which whoever
/// lost something asks for, would fill the path anew. A pause of less than a second empties it. A relay needs that the more
/// as it cannot make a layer smaller: its publisher has to be asked, and to heed it.
public struct LinkDrain: Sendable {
    /// A frame that waits for its turn for so long will not be seen in time: the rest is left out.
    private static let longestWait = TimeSpan.milliseconds(400)
    /// What waits behind a key frame is given this time, for that is larger than what the path carries at once.
    private static let keyFrameTime = TimeSpan.seconds(1 as Int64)
    /// Whatever the path is like, it is tried again after this: the queue may be someone else's.
    private static let longest = TimeSpan.milliseconds(1_500)
    private static let emptyQueue = TimeSpan.milliseconds(50)
    /// What a publisher was asked to have, it has after this.
    private static let obedience = TimeSpan.milliseconds(150)

    private let since: Instant

    public init(since: Instant) { self.since = since }

    /// Whether what waits to be sent along a full path is to be left out.
    ///
    /// - Parameter waiting: since when the oldest has waited.
    public static func isDue(waiting since: Instant, in log: borrowing PacketLog, at now: Instant) -> Bool {
        now - since >= longestWait && !hasFreshKeyFrame(log, at: now)
    }

    /// Whether a key frame is on its way: that is not left out, and not asked for anew (KEY3).
    public static func hasFreshKeyFrame(_ log: borrowing PacketLog, at now: Instant) -> Bool {
        log.newestKeyFrame.map { now - log[$0].arrival < keyFrameTime } ?? false
    }

    /// Until when it lasts at most.
    public var end: Instant { since + Self.longest }

    /// - Parameters:
    ///   - estimate: of the path.
    ///   - needed: the rate of what is to be sent next; nil where that heeds the estimate.
    ///   - askedAt: when its publisher was asked for less than it had; nil while it is not.
    public func isOver(
        _ estimate: BandwidthEstimate, needed: Bitrate? = nil, askedAt: Instant? = nil, at now: Instant
    ) -> Bool {
        if now >= end { return true }
        guard estimate.queueDelay.map({ $0 < Self.emptyQueue }) ?? false else { return false }
        if let askedAt, now - askedAt >= Self.obedience { return true }
        return needed.map { $0 <= estimate.target } ?? true
    }
}
