package import PCastCore

/// The pause of video on a congested path until its queue is drained and the next data fits.
///
/// Packets that are sent meanwhile are delayed or lost. A key frame, which a receiver requests after a loss, would
/// congest the path again. A pause of less than a second drains the queue. The SFU needs this most, because it cannot
/// reduce the size of a layer itself: it has to ask the publisher, which takes time.
package struct CongestionPause: Sendable {
    /// The time that a frame may be queued before the rest is dropped.
    private static let longestWait = TimeSpan.milliseconds(400)
    /// The time that packets after a key frame may be queued, because a key frame is larger than the path carries at
    /// once.
    private static let keyFrameTime = TimeSpan.seconds(1 as Int64)
    /// The maximum duration of the pause. After it sending is tried again, because the queue may be due to cross
    /// traffic.
    private static let longest = TimeSpan.milliseconds(1_500)
    /// The queuing delay below which the queue is drained.
    private static let emptyQueue = TimeSpan.milliseconds(50)
    /// The time after which a publisher has reduced its bit rate as requested.
    private static let remoteReactionTime = TimeSpan.milliseconds(150)

    private let since: Instant

    /// Begins a pause at a time.
    package init(since: Instant) { self.since = since }

    /// Returns whether the queued packets for a congested path must be dropped.
    ///
    /// - Parameters:
    ///   - since: The time since which the oldest packet is queued.
    ///   - log: The packets.
    ///   - now: The current time.
    /// - Returns: True if it is queued too long, and no recent key frame is in the log.
    package static func isDue(waiting since: Instant, in log: borrowing PacketLog, at now: Instant) -> Bool {
        now - since >= longestWait && !hasFreshKeyFrame(log, at: now)
    }

    /// Returns whether the log has a recent key frame, which is not dropped and makes another one unnecessary.
    package static func hasFreshKeyFrame(_ log: borrowing PacketLog, at now: Instant) -> Bool {
        log.newestKeyFrame.map { now - log[$0].arrival < keyFrameTime } ?? false
    }

    /// The time at which the pause ends at the latest.
    package var end: Instant { since + Self.longest }

    /// Returns whether the pause is over.
    ///
    /// - Parameters:
    ///   - estimate: The bandwidth estimate of the path.
    ///   - needed: The bit rate of the stream; nil if it adapts to the estimate.
    ///   - askedAt: The time at which the publisher was asked for a lower bit rate; nil if it was not.
    ///   - now: The current time.
    /// - Returns: True if the queue is drained and the stream fits, or after the maximum duration.
    package func isOver(
        _ estimate: BandwidthEstimate, needed: Bitrate? = nil, askedAt: Instant? = nil, at now: Instant
    ) -> Bool {
        if now >= end { return true }
        guard estimate.queueDelay.map({ $0 < Self.emptyQueue }) ?? false else { return false }
        if let askedAt, now - askedAt >= Self.remoteReactionTime { return true }
        return needed.map { $0 <= estimate.target } ?? true
    }
}
