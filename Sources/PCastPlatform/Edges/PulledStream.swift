import PCastCluster
import PCastCore
import PCastSFU

/// The decisions about a stream that this node pulls: when another link replaces the current one, and when the stream ends
/// or is released. The publication of this node is an origin like those of others.
///
/// It is a state machine. ``advance(to:_:ended:viewers:origins:)`` returns what the driver has to do. The driver reports the
/// results of connections, and the loss of the first link.
struct PulledStream {
    /// A link to an origin.
    struct Link: Hashable, Sendable {
        var origin: StreamOrigin
        /// The stream of the SFU with the media of the link. It is the pulled stream itself for its first link.
        let stream: StreamID
        /// The nodes that the media of the link pass, the origin last.
        let nodes: [String]
        /// The time at which the link was added.
        let since: Instant
        /// The identifier of the stream at the origin; nil if it is that of the pulled stream.
        var source: StreamID?
        /// The tags of the stream at the origin.
        var tags = StreamTags(ofNode: [], authorizing: [])
    }

    /// An action of the driver.
    enum Output: Hashable, Sendable {
        /// Connects to another origin, and reports it by ``connected(_:)`` or ``failed(_:at:)``.
        case connect(StreamOrigin)
        /// Forwards the media of a link to the viewers, from its newest key frame on.
        case select(Link)
        /// Closes a link that is not used.
        case close(StreamID)
        /// Ends the stream for its viewers.
        case end(StreamEndedReason)
        /// Ends the stream, which has had no viewers for a while.
        case release
    }

    /// The silence of a link with viewers after which another origin is looked for.
    static let silence = TimeSpan.milliseconds(300)
    /// The time after which an origin that failed is tried again.
    static let retryTime = TimeSpan.milliseconds(250)
    /// The time after which an origin that sent no media is tried again.
    static let silentRetryTime = TimeSpan.seconds(5 as Int64)
    /// The time after which a link to an origin that is not the preferred one is replaced by one to that.
    static let returnTime = TimeSpan.seconds(5 as Int64)
    /// The maximum number of origins whose failures are kept.
    private static let maximumFailures = 16

    let id: StreamID
    private let closeAfter: TimeSpan
    /// Whether further origins may appear. Otherwise the stream ends as soon as none of the origins has it.
    private let mayAppear: Bool
    private let limits: EdgeConfiguration.TimeLimits
    private(set) var current: Link
    /// The link that may replace the current one.
    private(set) var candidate: Link?
    /// The origin to which the driver connects; nil if it does not.
    private(set) var connecting: StreamOrigin?
    /// Whether the candidate, or the origin to which the driver connects, replaces a link that has media and its epoch.
    private var isReturning = false
    private var watchedSince: Instant?
    private var unwatchedSince: Instant?
    /// The end of the current link; nil while it exists.
    private var lost: (reason: StreamEndedReason, since: Instant)?
    /// The origins that failed, with the times before which they are not tried again.
    private var failures: [String: Instant] = [:]
    private var hasEnded = false

    init(
        _ id: StreamID, link: Link, closeAfter: TimeSpan, mayAppear: Bool,
        limits: EdgeConfiguration.TimeLimits = EdgeConfiguration.TimeLimits()
    ) {
        self.id = id
        self.limits = limits
        current = link
        self.closeAfter = closeAfter
        self.mayAppear = mayAppear
        unwatchedSince = link.since
    }

    /// The streams of the SFU whose arrivals are needed.
    var links: [StreamID] { [current.stream] + (candidate.map { [$0.stream] } ?? []) }

    /// Whether another link may replace the current one soon.
    var isChanging: Bool { connecting != nil || candidate != nil }

    // MARK: Inputs

    /// Records that the current link has ended.
    mutating func linkLost(_ reason: StreamEndedReason, at now: Instant) {
        guard lost == nil else { return }
        lost = (reason, now)
        failures = [:]
    }

    /// Records that another origin is connected. Returns false if the link is not needed any more.
    mutating func connected(_ link: Link) -> Bool {
        connecting = nil
        guard !hasEnded, candidate == nil else { return false }
        candidate = link
        return true
    }

    /// Records that another origin could not be connected.
    mutating func failed(_ origin: StreamOrigin, at now: Instant) {
        connecting = nil
        exclude(origin, until: now + failureTime)
    }

    /// The time for which an origin that failed is not tried. A stream that has a link can wait for its preferred origin.
    private var failureTime: TimeSpan { isReturning && lost == nil ? Self.silentRetryTime : Self.retryTime }

    private mutating func exclude(_ origin: StreamOrigin, until time: Instant) {
        if failures.count >= Self.maximumFailures { failures = [:] }
        failures[origin.uri] = time
    }

    // MARK: Decisions

    /// Performs what is due.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - arrivals: The arrivals of the streams of ``links``. One that is missing is not known at the moment.
    ///   - ended: The streams of ``links`` that have ended.
    ///   - viewers: The number of viewers of the stream.
    ///   - origins: The nodes that may have the stream, the preferred one first.
    /// - Returns: The actions of the driver, in their order.
    mutating func advance(
        to now: Instant, _ arrivals: [StreamID: SFU.StreamArrivals], ended: Set<StreamID> = [], viewers: Int,
        origins: [StreamOrigin]
    ) -> [Output] {
        guard !hasEnded else { return [] }
        if let output = release(viewers, at: now) { return [output] }
        if ended.contains(current.stream) { linkLost(.ended, at: now) }
        let newest = origins.map(\.publicationEpoch).max() ?? StreamEpoch(number: 0, claim: 0)
        let preferred = origins.first { $0.publicationEpoch == newest }
        let isReplaced = newest > current.origin.publicationEpoch && preferred?.uri != current.origin.uri
        // The node of the current link may have claimed the name. Those that stand by have not.
        if let preferred, preferred.uri == current.origin.uri, newest > current.origin.publicationEpoch {
            current.origin = preferred
        }
        let isSilent = lost != nil || isSilent(arrivals[current.stream], at: now)
        if let link = candidate {
            guard !ended.contains(link.stream) else {
                candidate = nil
                exclude(link.origin, until: now + failureTime)
                return []
            }
            return follow(link, arrivals[link.stream], isSilent, newest, at: now)
        }
        guard connecting == nil else { return [] }
        isReturning = false
        guard isSilent || isReplaced else { return returnTo(preferred, origins, at: now) }
        // An origin with a lower epoch was replaced by another publication. One that stands by does not replace a link
        // that has media.
        let usable = origins.filter { origin in
            origin.publicationEpoch == newest && (lost != nil || origin.uri != current.origin.uri)
                && (isSilent || origin == preferred)
        }
        if let next = usable.first(where: { failures[$0.uri].map { $0 <= now } ?? true }), !isFinal(usable) {
            connecting = next
            return [.connect(next)]
        }
        guard let lost, isFinal(usable) || (mayAppear && now - lost.since >= limits.waiting) else { return [] }
        hasEnded = true
        return [.end(lost.reason)]
    }

    /// Connects to the preferred origin after another one has served for a while, so that all nodes forward one origin.
    private mutating func returnTo(_ preferred: StreamOrigin?, _ origins: [StreamOrigin], at now: Instant) -> [Output] {
        // Fixed origins need not have the stream.
        guard mayAppear, watchedSince != nil, now - current.since >= Self.returnTime, let preferred,
            preferred.uri != current.origin.uri,
            origins.contains(where: { $0.uri == current.origin.uri }),
            failures[preferred.uri].map({ $0 <= now }) ?? true
        else { return [] }
        (connecting, isReturning) = (preferred, true)
        return [.connect(preferred)]
    }

    /// Whether all origins have failed since the link was lost, and no others can appear.
    private func isFinal(_ origins: [StreamOrigin]) -> Bool {
        lost != nil && !mayAppear && origins.allSatisfy { failures[$0.uri] != nil }
    }

    private mutating func release(_ viewers: Int, at now: Instant) -> Output? {
        if viewers > 0 {
            watchedSince = watchedSince ?? now
            unwatchedSince = nil
            return nil
        }
        watchedSince = nil
        let since = unwatchedSince ?? now
        unwatchedSince = since
        guard now - since >= closeAfter else { return nil }
        hasEnded = true
        return .release
    }

    /// Whether the current link sends no media although there are viewers. Without viewers, it is paused, and it begins to
    /// send when the first one has connected.
    private func isSilent(_ arrivals: SFU.StreamArrivals?, at now: Instant) -> Bool {
        guard let watchedSince, let arrivals else { return false }
        let beginning = max(watchedSince, current.since)
        guard let last = arrivals.last, last >= beginning else { return now - beginning >= limits.media }
        return now - last >= Self.silence
    }

    /// Selects a link that has media if it is still needed, and otherwise closes it.
    private mutating func follow(
        _ link: Link, _ arrivals: SFU.StreamArrivals?, _ isSilent: Bool, _ newest: StreamEpoch, at now: Instant
    ) -> [Output] {
        let isNewer = link.origin.publicationEpoch > current.origin.publicationEpoch
        guard isSilent || isNewer || isReturning, link.origin.publicationEpoch >= newest else {
            candidate = nil
            return [.close(link.stream)]
        }
        if let arrivals, arrivals.isDecodable, let last = arrivals.last, now - last < Self.silence {
            let former = current
            (current, candidate, lost, isReturning) = (link, nil, nil, false)
            failures = [:]
            return [.select(link)] + (former.stream == id ? [] : [.close(former.stream)])
        }
        guard now - link.since >= limits.media else { return [] }
        candidate = nil
        exclude(link.origin, until: now + Self.silentRetryTime)
        return [.close(link.stream)]
    }
}

extension PulledStream.Link {
    /// Creates the link of an offer that was answered.
    init(_ origin: StreamOrigin, _ offer: NodeOffer, _ stream: StreamID, since: Instant) {
        self.init(
            origin: origin, stream: stream, nodes: offer.path, since: since, source: StreamID(offer.stream),
            tags: StreamTags(ofNode: offer.tags, authorizing: offer.authorizingTags))
    }
}
