import Logging
import PCastCore
import PCastIO
import PCastWeb
import Synchronization

/// The quotas, rate limits and proxy settings that all endpoints check before they serve any client. It
/// also rejects clients while the platform is stopping.
final class RequestLimiter: Sendable {
    private struct State {
        var limits: PlatformLimits
        var proxies: [IPNetwork]
        var forwardedHeader: ForwardedHeader
        var isStopping = false
        /// Whether an operator has requested that no new clients are accepted.
        var isPaused = false
        var isDraining: Bool { isStopping || isPaused }
        var usage: [QuotaReservation.Kind: UsageCounter] = [:]
        /// The connections on which no request has arrived. They count towards `usage`, too.
        var silentConnections = UsageCounter()
        var connections = TokenBuckets<AddressBlock>()
        var requests = TokenBuckets<AddressBlock>()
        var joins = TokenBuckets<AddressBlock>()
        var metrics = TokenBuckets<AddressBlock>()
        var counts = Counts()
        /// The time from which the warning about an unknown proxy may be logged again.
        var nextNote = Instant(nanoseconds: .min)
    }

    /// The number of rejected requests by limit.
    struct Counts: Sendable {
        private(set) var refused: [PlatformLimits.Name: Int] = [:]

        mutating func add(_ limit: PlatformLimits.Name) { refused[limit, default: 0] += 1 }

        func count(_ limits: PlatformLimits.Name...) -> Int { limits.reduce(0) { $0 + (refused[$1] ?? 0) } }
    }

    private let state: Mutex<State>

    init(
        limits: PlatformLimits = PlatformLimits(), trustedProxies: [IPNetwork] = [],
        forwardedHeader: ForwardedHeader = .forwardedFor
    ) {
        state = Mutex(State(limits: limits, proxies: trustedProxies, forwardedHeader: forwardedHeader))
    }

    var counts: Counts { state.withLock { $0.counts } }

    var limits: PlatformLimits { state.withLock { $0.limits } }

    /// Changes the proxy settings for later requests.
    func change(trustedProxies: [IPNetwork], forwardedHeader: ForwardedHeader) {
        state.withLock { state in
            state.proxies = trustedProxies
            state.forwardedHeader = forwardedHeader
        }
    }

    /// Changes the limits for later requests. Existing clients stay, even if they exceed the new limits.
    func change(limits: PlatformLimits) { state.withLock { $0.limits = limits } }

    // MARK: Stopping

    /// Whether new clients are rejected, because the platform is stopping, or because an operator has requested it.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Rejects new clients from now on, because the platform is stopping.
    func drain() { state.withLock { $0.isStopping = true } }

    /// Rejects new clients, or accepts them again.
    func setPaused(_ isPaused: Bool) { state.withLock { $0.isPaused = isPaused } }

    // MARK: Addresses

    /// Returns the origin of a request: the peer, or the client that a trusted proxy reports. `values` returns the
    /// values of the header fields with a name.
    func caller(_ peer: IPAddress?, fields values: (String) -> [String]) -> RequestOrigin {
        let (proxies, field) = state.withLock { ($0.proxies, $0.forwardedHeader) }
        let isForwarded = RequestOrigin.forwardingFields.contains { !values($0).isEmpty }
        guard isForwarded else { return RequestOrigin(address: peer) }
        let hops = ForwardedAddress(field, values(field.rawValue))
        let isTrusted = peer.map { peer in proxies.contains { $0.contains(peer) } } ?? false
        // An address that a proxy on another host reports as loopback is not this host.
        let reportsClient = isTrusted && hops.hasLast && peer?.isLoopback == true
        return RequestOrigin(address: hops.address(of: peer, trusting: proxies), isHidden: !reportsClient)
    }

    func address(of peer: IPAddress?, fields values: (String) -> [String]) -> IPAddress? {
        caller(peer, fields: values).address
    }

    /// Warns the operator, at most once per minute, about requests of a proxy that is not configured as trusted.
    func noteHidden(_ caller: RequestOrigin, _ logger: Logger) {
        let now = MonotonicClock.now()
        let isNew: Bool = state.withLock { state in
            guard caller.address?.isLoopback == true, now >= state.nextNote else { return false }
            state.nextNote = now + .seconds(60)
            return true
        }
        guard isNew else { return }
        logger.warning(
            """
            requests from this host are forwarded by a proxy that does not name the client: they require a token like \
            remote requests; set --trusted-proxy and --forwarded-header
            """,
            metadata: ["address": "\(caller.address.map(\.description) ?? "unknown")"])
    }

    /// Returns whether the client's own connection uses TLS according to a trusted proxy. `values` returns the values
    /// of the header fields with a name.
    func isSecure(through peer: IPAddress?, fields values: (String) -> [String]) -> Bool {
        isTrustedProxy(peer) && ForwardedAddress.isSecure(state.withLock { $0.forwardedHeader }, values)
    }

    func isTrustedProxy(_ address: IPAddress?) -> Bool {
        guard let address else { return false }
        return state.withLock { $0.proxies.contains { $0.contains(address) } }
    }

    // MARK: Rates

    /// Counts an HTTP request or a signaling request.
    ///
    /// - Throws: ``APIError`` if the rate limit is exceeded.
    func takeRequest(from address: IPAddress?, at now: Instant) throws(APIError) {
        try take(\.requests, .requestsPerSecond, AddressBlock(address), at: now)
    }

    /// Counts the creation of a session, stream or viewing.
    ///
    /// - Throws: ``APIError`` if the rate limit is exceeded.
    func takeJoin(from address: IPAddress?, at now: Instant) throws(APIError) {
        try take(\.joins, .joinsPerSecond, AddressBlock(address), at: now)
    }

    /// The maximum number of requests for metrics per second and address.
    private static let metricsPerSecond: Int64 = 100

    func takeMetrics(from address: IPAddress?, at now: Instant) throws(APIError) {
        let wait = state.withLock { state in
            state.metrics.take(AddressBlock(address), perSecond: Self.metricsPerSecond, at: now)
        }
        if let wait { throw .rateLimited(retryAfter: wait) }
    }

    private func take(
        _ buckets: any WritableKeyPath<State, TokenBuckets<AddressBlock>> & Sendable, _ limit: PlatformLimits.Name,
        _ block: AddressBlock, at now: Instant
    ) throws(APIError) {
        let wait = state.withLock { state in
            let wait = state[keyPath: buckets].take(block, perSecond: state.limits[limit], at: now)
            if wait != nil { state.counts.add(limit) }
            return wait
        }
        if let wait { throw .rateLimited(retryAfter: wait) }
    }

    // MARK: Quotas

    /// Reserves a place for a client of this kind. `block` is nil if the client does not count towards the limit of an
    /// address.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func enter(_ kind: QuotaReservation.Kind, _ application: ApplicationID?, _ block: AddressBlock?) throws(APIError) {
        let refusal: APIError? = state.withLock { state in
            if state.isDraining { return .draining }
            let bounds = Self.bounds(of: kind, in: state.limits)
            do throws(UsageCounter.Exceeded) {
                try state.usage[kind, default: UsageCounter()].enter(application, block, within: bounds)
                return nil
            } catch {
                if let limit = kind.limit(error) { state.counts.add(limit) }
                return .full(kind, error)
            }
        }
        if let refusal { throw refusal }
    }

    func release(_ reservation: QuotaReservation) {
        state.withLock { $0.usage[reservation.kind]?.leave(reservation.application, reservation.block) }
    }

    /// Counts a publisher that was rejected because no bit rate was available.
    func noteNoBitrate(_ limit: PlatformLimits.Name) { state.withLock { $0.counts.add(limit) } }

    /// Returns the number of reserved places of a kind.
    func count(of kind: QuotaReservation.Kind) -> Int { state.withLock { Int($0.usage[kind]?.count ?? 0) } }

    private static func bounds(of kind: QuotaReservation.Kind, in limits: PlatformLimits) -> UsageCounter.Bounds {
        switch kind {
        case .session:
            .init(
                all: limits[.sessions], application: limits[.sessionsPerApplication],
                address: limits[.sessionsPerAddress])
        case .stream:
            .init(
                all: limits[.streams], application: limits[.streamsPerApplication],
                address: limits[.streamsPerAddress])
        case .viewer:
            .init(
                all: limits[.viewers], application: limits[.viewersPerApplication],
                address: limits[.viewersPerAddress])
        case .connection:
            .init(all: limits[.connections], application: .max, address: limits[.connectionsPerAddress])
        case .preview: .init(all: .max, application: .max, address: .max)
        }
    }

    // MARK: Connections

    /// Returns whether a connection is accepted, before any byte is read.
    ///
    /// Connections on which no request has arrived have a lower limit for each address, so that an address whose clients
    /// send nothing does not use all of its connections. A trusted proxy carries the connections of many clients, so
    /// only the limit of all connections applies to it.
    func admitConnection(from address: IPAddress?, at now: Instant) -> Bool {
        state.withLock { state in
            let block = AddressBlock(address)
            var bounds = Self.bounds(of: .connection, in: state.limits)
            let isProxy = address.map { address in state.proxies.contains { $0.contains(address) } } ?? false
            if isProxy {
                bounds.address = .max
            } else if state.connections.take(block, perSecond: state.limits[.connectionsPerSecond], at: now) != nil {
                state.counts.add(.connectionsPerSecond)
                return false
            }
            do throws(UsageCounter.Exceeded) {
                try state.silentConnections.enter(nil, block, within: Self.silentBounds(bounds))
                do throws(UsageCounter.Exceeded) {
                    try state.usage[.connection, default: UsageCounter()].enter(nil, block, within: bounds)
                } catch {
                    state.silentConnections.leave(nil, block)
                    throw error
                }
                return true
            } catch {
                if let limit = QuotaReservation.Kind.connection.limit(error) { state.counts.add(limit) }
                return false
            }
        }
    }

    /// The number of connections without a request that an address may have in any case.
    private static let minimumSilentConnections: Int64 = 64

    /// Returns the limits of connections on which no request has arrived: for each address half of those of all
    /// connections. By default this is the number of connections that an address may open at once.
    private static func silentBounds(_ bounds: UsageCounter.Bounds) -> UsageCounter.Bounds {
        var bounds = bounds
        bounds.all = .max
        bounds.address = max(bounds.address / 2, min(bounds.address, minimumSilentConnections))
        return bounds
    }

    /// Notes that the first request of an accepted connection has arrived, or that it was closed before.
    func connectionStoppedWaiting(from address: IPAddress?) {
        state.withLock { $0.silentConnections.leave(nil, AddressBlock(address)) }
    }

    func connectionClosed(from address: IPAddress?) {
        state.withLock { $0.usage[.connection]?.leave(nil, AddressBlock(address)) }
    }
}

/// The unit of limits per address, which is an IPv4 address or the first 64 bits of an IPv6 address. One customer has
/// all addresses of such a network (RFC 6177).
struct AddressBlock: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// Creates the unit of an address. All closed connections, whose address is nil, share one unit.
    init(_ address: IPAddress?) {
        high = address?.v6.high ?? 0
        low = address?.v4 == nil ? 0 : address?.v6.low ?? 0
    }
}

/// A gate that rejects connections if there are too many, or too many per second.
struct PlatformConnectionFilter: ConnectionFilter {
    let limiter: RequestLimiter

    func admits(_ address: IPAddress?) -> Bool {
        limiter.admitConnection(from: address, at: MonotonicClock.now())
    }

    func stoppedWaiting(_ address: IPAddress?) { limiter.connectionStoppedWaiting(from: address) }

    func closed(_ address: IPAddress?) { limiter.connectionClosed(from: address) }
}

/// Token buckets by key, so that only those clients are rejected that send too many requests.
///
/// A bucket is represented by the instant at which it will be full (generic cell rate algorithm, ITU-T I.371), so that
/// full buckets need not be stored. If no more buckets can be stored, new keys share one.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
    /// The maximum number of stored buckets.
    let capacity: Int
    private var full: [Key: Instant] = [:]
    private var sharedFull = Instant(nanoseconds: .min)
    private var nextSweep = Instant(nanoseconds: .min)

    /// The size of a bucket in seconds of the rate.
    static var burst: Int64 { 5 }
    private static var sweepInterval: TimeSpan { .seconds(1) }

    init(capacity: Int = 65_536) { self.capacity = capacity }

    /// The number of stored buckets.
    var count: Int { full.count }

    /// Removes a token from the bucket of a key. `perSecond` is the number of tokens that are added per second, and
    /// five times as many fill the bucket. Returns nil if there was a token, otherwise the time until there is one.
    mutating func take(_ key: Key, perSecond: Int64, at now: Instant) -> TimeSpan? {
        guard perSecond > 0 else { return .seconds(60) }
        if full[key] == nil, full.count >= capacity {
            sweep(at: now)
            if full.count >= capacity { return Self.take(&sharedFull, perSecond: perSecond, at: now) }
        }
        return Self.take(&full[key, default: now], perSecond: perSecond, at: now)
    }

    private static func take(_ full: inout Instant, perSecond: Int64, at now: Instant) -> TimeSpan? {
        let interval = TimeSpan.seconds(1) / perSecond
        let base = max(full, now)
        let wait = base - now + interval - interval * (perSecond * burst)
        guard wait <= .zero else { return wait }
        full = base + interval
        return nil
    }

    /// Removes full buckets, at most once per second.
    private mutating func sweep(at now: Instant) {
        guard now >= nextSweep else { return }
        nextSweep = now + Self.sweepInterval
        full = full.filter { $0.value > now }
    }
}
