package import PCastCore

/// Schedules the reloads of a media playlist: when, from which mirror, and with which delivery directives (RFC 8216,
/// section 6.3.4; RFC 8216bis, section 6.2.5).
package struct PlaylistReload: Machine {
    /// A request for the playlist.
    package struct Request: Hashable, Sendable {
        /// The ID that the response repeats, which tells it from the response to an earlier request.
        package var id: Int
        /// The index of the mirror to load from.
        package var mirror: Int
        /// The directives for the query of the URI.
        package var directives: DeliveryDirectives
    }

    /// The result of a request.
    package enum Input: Sendable {
        /// The playlist that request `id` loaded, after a delta update was applied.
        case loaded(id: Int, MediaPlaylist)
        /// Request `id` failed.
        case failed(id: Int, ReloadFailure)
    }

    /// An action for the caller, or an event.
    package enum Output: Hashable, Sendable {
        /// Load the playlist. There is at most one request at a time.
        case load(Request)
        /// Cancel request `id`, which has timed out or was sent to a stale mirror. Its result is ignored.
        case abandon(id: Int)
        /// A live playlist has not changed for three target durations, which is the least hold-back of a player.
        case stale
        /// A stale playlist has changed.
        case recovered
        /// The playlist is complete, and no more requests follow.
        case ended
        /// No mirror delivers the playlist, either for ``timeout`` or permanently. No more requests follow.
        case gaveUp(ReloadFailure)
    }

    /// The time for which failing requests are retried.
    package static let timeout = TimeSpan.seconds(30 as Int64)
    /// The timeout of a request that the server does not hold.
    ///
    /// A blocking request gets three target durations more, because the server may hold it that long (RFC 8216bis,
    /// section 6.2.5.2).
    static let requestTimeout = TimeSpan.seconds(8 as Int64)
    /// The minimum interval between the starts of two blocking requests, whatever durations the server specifies.
    static let shortestInterval = TimeSpan.milliseconds(50)
    /// The minimum interval between the starts of two requests that the server does not hold.
    static let shortestPoll = TimeSpan.milliseconds(500)
    /// The lower bound for the target duration in timeouts and intervals.
    static let shortestTarget = TimeSpan.seconds(1 as Int64)
    /// The number of target durations without a change after which a live playlist is stale.
    static let staleTargets: Int64 = 3

    /// A request whose result has not arrived.
    struct Outstanding {
        var request: Request
        var began: Instant
        var deadline: Instant
    }

    var mirrors: ReloadMirrors
    private var nextID = 0
    private var outstanding: Outstanding?
    /// The time and the directives of the next request; nil while a request is outstanding and after the last one.
    private var due: (time: Instant, directives: DeliveryDirectives)?
    /// The last playlist that was newer than the one before.
    private var playlist: MediaPlaylist?
    /// The time at which any playlist was last loaded.
    private var loadedAt: Instant?
    /// The time at which the playlist becomes stale, or at which another mirror is tried while it stays stale.
    private var staleAt: Instant?
    private var isStale = false
    /// The time of the first failure since the last success; nil if the last request succeeded.
    private var failingSince: Instant?
    private var outputs: [Output] = []

    /// Creates a scheduler, which outputs its first request at once.
    ///
    /// - Parameters:
    ///   - mirrors: The number of mirrors, in the order of preference; at least 1.
    ///   - first: The directives of the first request, e.g. those from a rendition report.
    ///   - seed: The seed of the random part of retry delays, which keeps clients that fail together from retrying
    ///     together.
    ///   - now: The current time.
    package init(
        mirrors: Int = 1, first: DeliveryDirectives = DeliveryDirectives(), seed: UInt64, at now: Instant
    ) {
        precondition(mirrors > 0, "there must be an address")
        self.mirrors = ReloadMirrors(count: mirrors, seed: seed)
        due = (now, first)
        advance(to: now)
    }

    /// Processes the result of a request. A result of any other than the outstanding request is ignored.
    package mutating func handle(_ input: Input, at now: Instant) {
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

    /// Sends requests that are due, and handles timeouts.
    package mutating func advance(to now: Instant) {
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

    /// Returns the next output; nil if there is none.
    package mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    package var deadline: Instant? {
        Instant.earlier(outstanding.map(\.deadline) ?? due?.time, staleAt)
    }

    /// Returns the outstanding request and clears it, if it has the ID; else returns nil.
    private mutating func finish(_ id: Int) -> Outstanding? {
        guard let request = outstanding, request.request.id == id else { return nil }
        outstanding = nil
        return request
    }

    /// The target duration of the playlist, at least 1 s.
    private var target: TimeSpan { max(playlist?.targetDuration ?? .zero, Self.shortestTarget) }
}

extension PlaylistReload {
    /// Processes a playlist and schedules the next request.
    private mutating func loaded(_ newer: MediaPlaylist, by request: Outstanding, at now: Instant) {
        mirrors.succeeded(request.request.mirror)
        failingSince = nil
        let hasChanged = playlist.map { Self.hasChanged(newer, after: $0) } ?? true
        loadedAt = now
        if hasChanged || playlist == nil {
            playlist = newer
            staleAt = now + target * Self.staleTargets
            if isStale { outputs.append(.recovered) }
            isStale = false
        }
        guard newer.isLive || !hasChanged else {
            staleAt = nil
            outputs.append(.ended)
            return
        }
        due = (nextTime(after: request, hasChanged: hasChanged, at: now), directives)
    }

    /// Returns whether a playlist has more than the known one. A playlist that has less comes from a cache, unless it
    /// ends before the known window begins, which means that the server has restarted.
    private static func hasChanged(_ newer: MediaPlaylist, after known: MediaPlaylist) -> Bool {
        if newer.nextNumber != known.nextNumber {
            return newer.nextNumber > known.nextNumber || newer.nextNumber <= known.mediaSequence
        }
        let (parts, knownParts) = (newer.openSegment?.parts.count ?? 0, known.openSegment?.parts.count ?? 0)
        return parts > knownParts || !newer.isLive && known.isLive
    }

    /// Returns the time of the next request. It counts from the start of the last one, so that a slow response does not
    /// delay the next.
    private func nextTime(after request: Outstanding, hasChanged: Bool, at now: Instant) -> Instant {
        let interval: TimeSpan
        if playlist?.serverControl.canBlockReload == true, hasChanged {
            interval = Self.shortestInterval
        } else {
            let whole = playlist?.partTargetDuration ?? target
            interval = max(hasChanged ? whole : whole / 2, Self.shortestPoll)
        }
        return max(now, request.began + interval)
    }

    /// The directives that the server supports, for the next segment or part.
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

    /// Removes the skip directive unless the known playlist is younger than half of the skip boundary (RFC 8216bis,
    /// section 6.3.7).
    private func fresh(_ directives: DeliveryDirectives, at now: Instant) -> DeliveryDirectives {
        guard let boundary = playlist?.serverControl.canSkipUntil, let loadedAt, now - loadedAt < boundary / 2 else {
            return DeliveryDirectives(segment: directives.segment, part: directives.part)
        }
        return directives
    }

    /// Reports that the playlist is stale and switches to another mirror.
    private mutating func becomeStale(at now: Instant) {
        staleAt = nil
        if !isStale { outputs.append(.stale) }
        isStale = true
        // Another server may be up to date. Its playlist is requested without directives, because its state is unknown.
        guard mirrors.leave(at: now) else { return }
        staleAt = now + target * Self.staleTargets
        if let request = outstanding { outputs.append(.abandon(id: request.request.id)) }
        outstanding = nil
        due = (now, DeliveryDirectives())
    }

    /// Schedules the next request after a failure, or gives up.
    private mutating func failed(_ failure: ReloadFailure, _ request: Outstanding, at now: Instant) {
        if case .unreadable(.skippedSegmentsUnknown) = failure, request.request.directives.skip != nil {
            // The server works, but the update skips segments that are not known here, so the whole playlist is
            // requested.
            due = (max(now, request.began + Self.shortestInterval), DeliveryDirectives())
            return
        }
        let since = failingSince ?? now
        failingSince = since
        let next = mirrors.failed(request.request.mirror, failure, at: now)
        guard let next, now - since < Self.timeout else {
            due = nil
            staleAt = nil
            outputs.append(.gaveUp(failure))
            return
        }
        // The request has no directives, because a restarted server rejects numbers that it has not reached.
        due = (max(next, request.began + Self.shortestInterval), DeliveryDirectives())
    }
}

/// The reason why a playlist was not loaded.
package enum ReloadFailure: Error, Hashable, Sendable {
    /// The connection failed or broke.
    case unreachable
    /// No response arrived before the timeout.
    case timeout
    /// The response has an HTTP status other than success. `retryAfter` is the value of `Retry-After`, nil if missing.
    case status(Int, retryAfter: TimeSpan? = nil)
    /// The response is not a valid playlist.
    case unreadable(PlaylistError)
    /// The URI cannot be requested, or the response has an unsupported encoding.
    case invalidURI

    /// Whether a retry for an on-demand presentation is useless: it includes client errors other than 408, 425 and 429
    /// (RFC 9110, section 15.5). For a live presentation these may mean that the server has not created the resource
    /// yet.
    package var isFinalOnDemand: Bool {
        if case .status(let code, _) = self, (400..<500).contains(code), ![408, 425, 429].contains(code) {
            return true
        }
        return isFinal
    }

    /// Whether a retry is useless for any presentation, e.g. because access is denied or the resource is gone.
    package var isFinal: Bool {
        switch self {
        case .status(let code, _): [401, 403, 410, 451].contains(code)
        case .unreadable(let error):
            switch error {
            case .unsupportedVersion, .mixedKinds: true
            default: false
            }
        case .invalidURI: true
        case .unreachable, .timeout: false
        }
    }
}

/// The delivery directives in the query of a request for a media playlist (RFC 8216bis, section 6.2.5).
package struct DeliveryDirectives: Hashable, Sendable {
    /// The content that a delta update leaves out (`_HLS_skip`).
    package enum Skip: String, Hashable, Sendable {
        /// Old media segments.
        case segments = "YES"
        /// Old media segments and old date ranges.
        case segmentsAndDateRanges = "v2"
    }

    /// The media sequence number for which the server holds the response (`_HLS_msn`); nil for a response at once.
    package var segment: Int64?
    /// The index of the part of that segment for which the server holds the response (`_HLS_part`); nil for the whole
    /// segment.
    package var part: Int64?
    /// The request for a delta update (`_HLS_skip`); nil for the whole playlist.
    package var skip: Skip?

    /// Creates directives; without any, the request is a plain one.
    package init(segment: Int64? = nil, part: Int64? = nil, skip: Skip? = nil) {
        self.segment = segment
        self.part = part
        self.skip = skip
    }

    /// Creates the directives of the first request for a rendition that the playlist of another rendition reported.
    package init(joining report: RenditionReport) {
        self.init(segment: report.lastSegment, part: report.lastPart)
    }

    /// Whether the server holds the response until the segment or part is available.
    package var isBlocking: Bool { segment != nil }

    /// Returns the URI with the directives in its query. They replace earlier directives and follow other parameters in
    /// the order of their names, so that caches see one URI (RFC 8216bis, section 6.2.5).
    package func applied(to uri: String) -> String {
        var reference = URIReference(uri)
        var pairs = (reference.query ?? "").utf8.split(separator: UInt8(ascii: "&"))
            .map { String(Substring($0)) }.filter { !$0.hasPrefix("_HLS_") }
        if let segment { pairs.append("_HLS_msn=\(segment)") }
        if segment != nil, let part { pairs.append("_HLS_part=\(part)") }
        if let skip { pairs.append("_HLS_skip=\(skip.rawValue)") }
        reference.query = pairs.isEmpty ? nil : pairs.joined(separator: "&")
        // A fragment is not part of an HTTP request.
        reference.fragment = nil
        return reference.text
    }
}
