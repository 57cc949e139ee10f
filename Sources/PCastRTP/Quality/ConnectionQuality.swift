public import PCastMedia

/// The data quality as a client tells it: what the platform says of its end, and what the client knows better, as when
/// nothing is heard of the platform at all.
///
/// Nothing heard for 1.5 s, neither media nor reports nor answers to checks: NoData, None. A platform that says by its
/// signalling that nothing arrives of the publisher, no cause known, while packets leave here all the time, makes that
/// UploadLimited: the uplink loses every one of them. So it is with DownloadLimited for a viewer that hears nothing, of
/// which the platform hears nothing. A link that held back what passed before nothing did is the cause too: the platform
/// knows that of its own, and its words would come over the link that is silent.
public struct ConnectionQuality: Sendable {
    public enum Role: Sendable { case publisher, viewer }

    /// What is seen at one moment; a look each quarter of a second is meant.
    public struct Observation: Hashable, Sendable {
        /// When something authentic came from the platform last; nil before the connection was up.
        public var lastHeard: Instant?
        /// Packets of media since the beginning.
        public var packetsSent: Int
        /// Nothing was heard for seconds.
        public var isAway: Bool

        public init(lastHeard: Instant?, packetsSent: Int, isAway: Bool = false) {
            self.lastHeard = lastHeard
            self.packetsSent = packetsSent
            self.isAway = isAway
        }
    }

    private static let patience = TimeSpan.milliseconds(1_500)
    /// Packets that leave for so long show that something is to arrive.
    private static let sendingSpan = TimeSpan.seconds(1 as Int64)

    /// Who looks that seldom was held up himself, and has to hear again first.
    private static let longestLook = TimeSpan.seconds(1 as Int64)

    private let role: Role
    private var lastLook: Instant?
    private var isSilent = false
    private var lastCount = 0
    private var lastSent: Instant?
    private var sendingSince: Instant?
    private var isSending = false

    /// What the platform said last.
    public private(set) var platform = DataQuality.good
    public private(set) var quality = DataQuality.good

    public init(_ role: Role) { self.role = role }

    /// - Returns: the row that holds from now on, where it is another than before.
    public mutating func told(_ row: DataQuality) -> DataQuality? {
        platform = row
        return settle()
    }

    public mutating func observe(_ observation: Observation, at now: Instant) -> DataQuality? {
        let isHeldUp = lastLook.map { now - $0 > Self.longestLook } ?? false
        lastLook = now
        let isLongAgo = observation.lastHeard.map { now - $0 >= Self.patience } ?? false
        isSilent = observation.isAway || isLongAgo && (isSilent || !isHeldUp)
        if observation.packetsSent != lastCount {
            lastCount = observation.packetsSent
            if lastSent.map({ now - $0 >= Self.sendingSpan }) ?? true { sendingSince = now }
            lastSent = now
        }
        isSending =
            lastSent.map { now - $0 < Self.sendingSpan } ?? false
            && sendingSince.map { now - $0 >= Self.sendingSpan } ?? false
        return settle()
    }

    private mutating func settle() -> DataQuality? {
        let row = row
        guard row != quality else { return nil }
        quality = row
        return row
    }

    /// Of this client's own link.
    private var ownLimit: DataQuality.Reason { role == .publisher ? .uploadLimited : .downloadLimited }

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
