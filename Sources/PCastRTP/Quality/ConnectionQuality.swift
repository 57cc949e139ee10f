package import PCastCore

/// The data quality that a client reports. It combines two sources: the reports of the platform about the client's end,
/// and the client's own observation of what it sends and receives.
///
/// If neither media nor reports nor answers to connectivity checks arrive for 1.5 s, the data quality is NoData. The
/// reason is None, except in these cases, in which it is the limit of the client's own link:
///
/// - A publisher sends packets all the time, and the platform reports NoData without a reason. The link loses all
///   packets.
/// - A viewer receives nothing, and the platform reports NoData without a reason. The link loses all packets.
/// - The last report of the platform, before nothing arrived any more, had the link as the reason. A later report would
///   have to arrive over the same link.
package struct ConnectionQuality: Sendable {
    /// The role of the client.
    package enum Role: Sendable { case publisher, viewer }

    /// The state of the connection at one time, which should be observed four times per second.
    package struct Observation: Hashable, Sendable {
        /// The time of the last authenticated datagram from the platform; nil before the connection was established.
        package var lastReceivedAt: Instant?
        /// The number of media packets that were sent since the beginning.
        package var packetsSent: Int
        /// Whether nothing was received for several seconds.
        package var isAway: Bool

        /// Creates an observation.
        package init(lastReceivedAt: Instant?, packetsSent: Int, isAway: Bool = false) {
            self.lastReceivedAt = lastReceivedAt
            self.packetsSent = packetsSent
            self.isAway = isAway
        }
    }

    /// The time without datagrams after which there is silence.
    private static let timeout = TimeSpan.milliseconds(1_500)
    /// The time for which packets must be sent to conclude that some should arrive.
    private static let sendingSpan = TimeSpan.seconds(1 as Int64)

    /// The interval of observations above which this client was suspended, and has to receive again first.
    private static let longestLook = TimeSpan.seconds(1 as Int64)

    /// The role of the client.
    private let role: Role
    /// The time of the last observation.
    private var lastLook: Instant?
    private var isSilent = false
    /// The number of packets at the last observation.
    private var lastCount = 0
    /// The time at which a packet was last sent.
    private var lastSent: Instant?
    /// The time since which packets have been sent.
    private var sendingSince: Instant?
    /// Whether packets have been sent for ``sendingSpan``.
    private var isSending = false

    /// The data quality that the platform last reported.
    package private(set) var platform = DataQuality.good
    /// The current data quality.
    package private(set) var quality = DataQuality.good

    /// Creates a state with good data quality.
    package init(_ role: Role) { self.role = role }

    /// Sets the platform's data quality, and returns the resulting one; nil if it has not changed.
    package mutating func setPlatformQuality(_ row: DataQuality) -> DataQuality? {
        platform = row
        return update()
    }

    /// Updates the state, and returns the resulting data quality; nil if it has not changed.
    package mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        let isHeldUp = lastLook.map { now - $0 > Self.longestLook } ?? false
        lastLook = now
        let isLongAgo = observation.lastReceivedAt.map { now - $0 >= Self.timeout } ?? false
        isSilent = observation.isAway || isLongAgo && (isSilent || !isHeldUp)
        if observation.packetsSent != lastCount {
            lastCount = observation.packetsSent
            if lastSent.map({ now - $0 >= Self.sendingSpan }) ?? true { sendingSince = now }
            lastSent = now
        }
        isSending =
            lastSent.map { now - $0 < Self.sendingSpan } ?? false
            && sendingSince.map { now - $0 >= Self.sendingSpan } ?? false
        return update()
    }

    /// Updates the data quality, and returns it if it has changed.
    private mutating func update() -> DataQuality? {
        let row = row
        guard row != quality else { return nil }
        quality = row
        return row
    }

    /// The reason for a limit of this client's link.
    private var ownLimit: DataQuality.Reason { role == .publisher ? .uploadLimited : .downloadLimited }

    /// The data quality in the current state.
    private var row: DataQuality {
        let nothing = DataQuality(status: .noData, reason: .none)
        if platform == nothing {
            switch role {
            case .publisher where isSending: return DataQuality(status: .noData, reason: ownLimit)
            case .viewer where isSilent: return DataQuality(status: .noData, reason: ownLimit)
            default: return nothing
            }
        }
        guard isSilent, platform.status != .noData else { return platform }
        return platform.reason == ownLimit ? DataQuality(status: .noData, reason: ownLimit) : nothing
    }
}
