public import PCastMedia

/// When to ask for a media playlist, where, and with which directives (RFC 8216, section 6.3.4; RFC 8216bis, section
/// 6.2.5).
public struct PlaylistReload: Machine {
    public struct Request: Hashable, Sendable {
        /// By which the answer is told from one to an earlier request.
        public var id: Int
        /// Which of the addresses to ask, from zero.
        public var mirror: Int
        public var directives: DeliveryDirectives
    }

    public enum Input: Sendable {
        /// The playlist, with what was skipped put back.
        case loaded(id: Int, MediaPlaylist)
        case failed(id: Int, ReloadFailure)
    }

    public enum Output: Hashable, Sendable {
        /// One at a time.
        case load(Request)
        /// The request takes too long, and its answer will not be looked at.
        case abandon(id: Int)
        /// A live playlist has brought nothing new for three target durations, the least that a player holds back.
        case stale
        /// It goes on.
        case recovered
        /// It is complete.
        case ended
        /// No address answers, for ``patience`` or for good.
        case gaveUp(ReloadFailure)
    }

    /// For how long failures are borne.
    public static let patience = TimeSpan.seconds(30 as Int64)
    /// The time that a request has whose answer is not held back. One that is has three target durations more: so long the
    /// server may wait (RFC 8216bis, section 6.2.5.2).
    static let requestTimeout = TimeSpan.seconds(8 as Int64)
    /// Between requests at least, whatever durations and answers a server makes up.
    static let shortestInterval = TimeSpan.milliseconds(50)
    /// The same where answers are not held back.
    static let shortestPoll = TimeSpan.milliseconds(500)
    /// A target duration is a second at least.
    static let shortestTarget = TimeSpan.seconds(1 as Int64)
    static let staleTargets: Int64 = 3

    struct Outstanding {
        var request: Request
        var began: Instant
        var deadline: Instant
    }

    var mirrors: ReloadMirrors
    private var nextID = 0
    private var outstanding: Outstanding?
    /// When the next request is due, and what it asks; nil when it is over.
    private var due: (time: Instant, directives: DeliveryDirectives)?
    private var playlist: MediaPlaylist?
    private var loadedAt: Instant?
    /// When the playlist will have been without change for too long, again perhaps.
    private var staleAt: Instant?
    private var isStale = false
    private var failingSince: Instant?
    private var outputs: [Output] = []

    /// Begins at once.
    ///
    /// - Parameters:
    ///   - mirrors: How many addresses there are, in the order of preference.
    ///   - first: What the first request asks, where another rendition's playlist told.
    ///   - seed: Of the chance by which clients that fail together do not come back together.
    public init(
        mirrors: Int = 1, first: DeliveryDirectives = DeliveryDirectives(), seed: UInt64, at now: Instant
    ) {
        precondition(mirrors > 0, "there is an address")
        self.mirrors = ReloadMirrors(count: mirrors, seed: seed)
        due = (now, first)
        advance(to: now)
    }

    public mutating func handle(_ input: Input, at now: Instant) {
        switch input {
        case .loaded(let id, let playlist):
            guard let request = finish(id) else { return }
            loaded(playlist, by: request, at: now)
        case .failed(let id, let failure):
            guard let request = finish(id) else { return }
            failed(failure, request, at: now)
        }
        advance(to: now)
    }

    public mutating func advance(to now: Instant) {
        if let request = outstanding, request.deadline <= now {
            outstanding = nil
            outputs.append(.abandon(id: request.request.id))
            failed(.timeout, request, at: now)
        }
        if let staleAt, staleAt <= now { becomeStale(at: now) }
        guard outstanding == nil, let due, due.time <= now else { return }
        self.due = nil
        let request = Request(id: nextID, mirror: mirrors.current, directives: fresh(due.directives, at: now))
        nextID += 1
        var timeout = Self.requestTimeout
        if due.directives.isBlocking { timeout += target * 3 }
        outstanding = Outstanding(request: request, began: now, deadline: now + timeout)
        outputs.append(.load(request))
    }

    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    public var deadline: Instant? {
        Instant.earlier(outstanding.map(\.deadline) ?? due?.time, staleAt)
    }

    private mutating func finish(_ id: Int) -> Outstanding? {
        guard let request = outstanding, request.request.id == id else { return nil }
        outstanding = nil
        return request
    }

    private var target: TimeSpan { max(playlist?.targetDuration ?? .zero, Self.shortestTarget) }
}

extension PlaylistReload {
    private mutating func loaded(_ newer: MediaPlaylist, by request: Outstanding, at now: Instant) {
        mirrors.succeeded(request.request.mirror)
        failingSince = nil
        let isNews = playlist.map { Self.isNews(newer, after: $0) } ?? true
        loadedAt = now
        if isNews || playlist == nil {
            playlist = newer
            staleAt = now + target * Self.staleTargets
            if isStale { outputs.append(.recovered) }
            isStale = false
        }
        guard newer.isLive || !isNews else {
            staleAt = nil
            outputs.append(.ended)
            return
        }
        due = (nextTime(after: request, isNews: isNews, at: now), directives)
    }

    /// Whether it has more than is known. What has less comes from a cache, unless it shares nothing with what is known:
    /// then the server began anew.
    private static func isNews(_ newer: MediaPlaylist, after known: MediaPlaylist) -> Bool {
        if newer.nextNumber != known.nextNumber {
            return newer.nextNumber > known.nextNumber || newer.nextNumber <= known.mediaSequence
        }
        let (parts, knownParts) = (newer.openSegment?.parts.count ?? 0, known.openSegment?.parts.count ?? 0)
        return parts > knownParts || !newer.isLive && known.isLive
    }

    /// Counted from when the request began, so that a slow answer does not put the next one off.
    private func nextTime(after request: Outstanding, isNews: Bool, at now: Instant) -> Instant {
        let interval: TimeSpan
        if playlist?.serverControl.canBlockReload == true, isNews {
            interval = Self.shortestInterval
        } else {
            let whole = playlist?.partTargetDuration ?? target
            interval = max(isNews ? whole : whole / 2, Self.shortestPoll)
        }
        return max(now, request.began + interval)
    }

    private var directives: DeliveryDirectives {
        guard let playlist else { return DeliveryDirectives() }
        var directives = DeliveryDirectives()
        let control = playlist.serverControl
        if control.canBlockReload {
            directives.segment = playlist.nextNumber
            if playlist.partTargetDuration != nil {
                directives.part = Int64(playlist.openSegment?.parts.count ?? 0)
            }
        }
        if control.canSkipUntil != nil {
            directives.skip = control.canSkipDateRanges ? .segmentsAndDateRanges : .segments
        }
        return directives
    }

    /// What is known must be younger than half of what may be skipped (RFC 8216bis, section 6.3.7).
    private func fresh(_ directives: DeliveryDirectives, at now: Instant) -> DeliveryDirectives {
        guard let boundary = playlist?.serverControl.canSkipUntil, let loadedAt, now - loadedAt < boundary / 2 else {
            return DeliveryDirectives(segment: directives.segment, part: directives.part)
        }
        return directives
    }

    private mutating func becomeStale(at now: Instant) {
        staleAt = nil
        if !isStale { outputs.append(.stale) }
        isStale = true
        // Another server may be better off, and the next after it. Its playlist is asked for as it is.
        guard mirrors.leave(at: now) else { return }
        staleAt = now + target * Self.staleTargets
        if let request = outstanding { outputs.append(.abandon(id: request.request.id)) }
        outstanding = nil
        due = (now, DeliveryDirectives())
    }

    private mutating func failed(_ failure: ReloadFailure, _ request: Outstanding, at now: Instant) {
        if case .unreadable(.skippedSegmentsUnknown) = failure, request.request.directives.skip != nil {
            // The server is well: what it left out is not here.
            due = (max(now, request.began + Self.shortestInterval), DeliveryDirectives())
            return
        }
        let since = failingSince ?? now
        failingSince = since
        let next = mirrors.failed(request.request.mirror, failure, at: now)
        guard let next, now - since < Self.patience else {
            due = nil
            staleAt = nil
            outputs.append(.gaveUp(failure))
            return
        }
        // Without directives: a server that began anew refuses numbers that it has not reached.
        due = (max(next, request.began + Self.shortestInterval), DeliveryDirectives())
    }
}
