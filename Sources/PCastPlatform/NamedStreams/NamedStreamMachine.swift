import PCastCore

/// The decisions about one declared stream: when its source and its fallback run, and whose media its viewers receive.
///
/// It is a state machine. After each input, the driver takes the outputs and polls the next deadline. `advance(to:)` with
/// the arrivals of media drives everything else.
struct NamedStreamMachine {
    /// The origin of media.
    enum Role: String, Hashable, Sendable {
        /// The source of the declaration.
        case source
        /// A client that publishes the name.
        case publisher
        /// The fallback of the declaration.
        case fallback
    }

    /// The reason of a switch.
    enum Reason: String, Hashable, Sendable {
        /// The first media of the stream arrived.
        case began
        /// The former publisher has left.
        case left
        /// The former publisher sends no media.
        case silent
        /// A publisher replaced the former one.
        case replaced
        /// The preferred publisher sends media again.
        case returned
        /// There is no other publisher.
        case fallback
        /// An operator selected it.
        case operated
    }

    /// The arrivals of one publisher's media.
    struct Arrivals: Hashable, Sendable {
        /// The last arrival; nil before the first packet.
        var last: Instant?
        /// Whether a decoder can begin, because there is a key frame, or no video.
        var isDecodable: Bool
    }

    /// An action of the driver.
    enum Output: Hashable, Sendable {
        case startSource
        case stopSource
        case startFallback
        case stopFallback
        /// Creates the stream with the tracks of a publisher.
        case open(like: StreamID)
        /// Ends the stream.
        case close
        /// Forwards the media of a publisher to the viewers from its next key frame on.
        case select(StreamID)
        /// Ends a publisher that was replaced.
        case end(StreamID)
        /// Reports that viewers of a stream on demand wait for it.
        case demanded
        /// Reports a switch to a publisher.
        case switched(to: StreamID, Reason)
    }

    /// A publisher of the name.
    struct Publisher: Hashable, Sendable {
        let id: StreamID
        let role: Role
        /// The order in which publishers joined.
        let order: Int
        var arrivals = Arrivals(last: nil, isDecodable: false)
        /// The time since which media arrive without a pause; nil if none arrive.
        var liveSince: Instant?
    }

    /// The state of a job that runs while it is wanted and restarts with back-off.
    struct Job: Hashable, Sendable {
        enum State: Hashable, Sendable {
            case stopped
            case running(since: Instant)
            case waiting(until: Instant)
        }

        private(set) var state = State.stopped
        /// The number of ends in a row.
        private(set) var failures = 0

        /// The times before the first and the following retries.
        static let shortestWait = TimeSpan.milliseconds(500)
        static let longestWait = TimeSpan.seconds(30)
        /// A job that ran for this time counts as working.
        static let workingTime = TimeSpan.seconds(30)

        var isRunning: Bool { if case .running = state { true } else { false } }

        /// Returns true if the job has to start now, false if it has to stop, and nil if neither.
        mutating func update(isWanted: Bool, at now: Instant) -> Bool? {
            switch state {
            case .stopped where isWanted: break
            case .waiting(let until) where isWanted && until <= now: break
            case .running where !isWanted:
                state = .stopped
                failures = 0
                return false
            case .waiting where !isWanted:
                state = .stopped
                failures = 0
                return nil
            default: return nil
            }
            state = .running(since: now)
            return true
        }

        /// Records that the job has ended by itself.
        mutating func ended(at now: Instant) {
            guard case .running(let since) = state else { return }
            if now - since >= Self.workingTime { failures = 0 }
            let wait = Self.shortestWait * Int64(1 << min(failures, 6))
            failures += 1
            state = .waiting(until: now + min(wait, Self.longestWait))
        }

        var deadline: Instant? { if case .waiting(let until) = state { until } else { nil } }
    }

    let declaration: StreamDeclaration
    /// Whether slates can be made for the declaration.
    private let hasSlate: Bool
    private let closeAfter: TimeSpan
    /// Whether an operator lets the stream run.
    private(set) var isOn = true
    private(set) var viewers = 0
    private(set) var publishers: [Publisher] = []
    private(set) var source = Job()
    private(set) var fallback = Job()
    /// Whether the stream exists for viewers.
    private(set) var isOpen = false
    /// The publisher whose media viewers receive. It may have left.
    private(set) var selected: StreamID?
    private(set) var lastSwitch: (to: StreamID, reason: Reason, at: Instant)?
    private var outputs: [Output] = []
    private var nextOrder = 0
    /// The time since which there are no viewers; nil while there are some.
    private var unwatchedSince: Instant?
    /// The time since which there are viewers; nil while there are none.
    private var watchedSince: Instant?
    /// The time before which the stream is not opened again after it ended by itself.
    private var opensAfter: Instant?
    /// The time since which no publisher except the fallback sends media; nil while one does.
    private var missingSince: Instant?
    /// The time since which there are no media at all; nil while there are some.
    private var emptySince: Instant?
    /// The publisher that an operator selected; nil for none.
    private var operated: StreamID?

    /// The maximum number of publishers, including the source and the fallback.
    static let maximumPublishers = 6
    /// The silence after which media count as missing.
    static let silence = TimeSpan.seconds(2)
    /// The silence after which a publisher that stands by takes over.
    static let standbySilence = TimeSpan.milliseconds(200)
    /// The time for which a publisher must send media before the stream switches back to it.
    static let returnTime = TimeSpan.seconds(2)
    /// The time without media after which the fallback starts.
    static let fallbackDelay = TimeSpan.milliseconds(300)
    /// The time for which the first viewers wait for the source before the fallback starts.
    static let openingDelay = TimeSpan.seconds(2)
    /// The minimum time without viewers before a source is closed. A viewer who waited joins within this time.
    static let shortestClosing = TimeSpan.milliseconds(500)
    /// The time after which a stream that ended by itself is opened again.
    static let reopeningTime = TimeSpan.seconds(1)
    /// The time without media after which a stream with viewers ends.
    static let longestGap = TimeSpan.seconds(3_600)

    /// Creates the machine of a declaration. `makesSlates` is true if the platform can make slates.
    init(_ declaration: StreamDeclaration, makesSlates: Bool = false, at now: Instant) {
        self.declaration = declaration
        hasSlate = makesSlates && declaration.hasSlate
        closeAfter = max(TimeSpan(declaration.closeAfter), Self.shortestClosing)
        // Nobody has watched yet, so a stream on demand does not wait for `closeAfter`.
        unwatchedSince = now - closeAfter
        missingSince = now
        emptySince = now
        update(at: now)
    }

    // MARK: Inputs

    /// Changes the number of viewers, including those that wait for the stream.
    mutating func setViewers(_ count: Int, at now: Instant) {
        let wasWatched = viewers > 0
        viewers = count
        if count > 0, !wasWatched {
            unwatchedSince = nil
            watchedSince = now
            if declaration.isOnDemand, isOn, !source.isRunning { outputs.append(.demanded) }
        } else if count == 0, wasWatched {
            unwatchedSince = now
            watchedSince = nil
        }
        update(at: now)
    }

    /// Whether another publisher may join.
    var hasSpace: Bool { isOn && publishers.count < Self.maximumPublishers }

    /// Adds a publisher.
    mutating func joined(_ id: StreamID, _ role: Role, at now: Instant) {
        publishers.append(Publisher(id: id, role: role, order: nextOrder))
        nextOrder += 1
        update(at: now)
    }

    /// Removes a publisher that has left.
    mutating func left(_ id: StreamID, at now: Instant) {
        publishers.removeAll { $0.id == id }
        if operated == id { operated = nil }
        update(at: now)
    }

    /// Records that the job of the source or of the fallback has ended by itself or could not start.
    mutating func jobEnded(_ role: Role, at now: Instant) {
        if role == .fallback { fallback.ended(at: now) } else { source.ended(at: now) }
        update(at: now)
    }

    /// Records that the stream for viewers has ended by itself, for example because it was ended by an operator.
    mutating func closed(at now: Instant) {
        isOpen = false
        selected = nil
        opensAfter = now + Self.reopeningTime
        update(at: now)
    }

    /// Switches the stream on or off.
    mutating func setOn(_ isOn: Bool, at now: Instant) {
        self.isOn = isOn
        if !isOn {
            for publisher in publishers where publisher.role == .publisher { outputs.append(.end(publisher.id)) }
            if isOpen { close() }
        }
        update(at: now)
    }

    /// Switches to another publisher that sends media. Returns false if there is none.
    mutating func switchToStandby(at now: Instant) -> Bool {
        let others = publishers.filter { $0.role != .fallback && $0.id != selected && isUsable($0, at: now) }
        guard isOpen, let other = others.min(by: { rank($0) < rank($1) }) else { return false }
        operated = other.id
        select(other.id, .operated, at: now)
        return true
    }

    /// Performs what is due, with the arrivals of the publishers' media.
    mutating func advance(to now: Instant, _ arrivals: [StreamID: Arrivals] = [:]) {
        for index in publishers.indices {
            guard let arrived = arrivals[publishers[index].id] else { continue }
            publishers[index].arrivals = arrived
            // A pause that would be a reason to switch restarts the time of continuous media.
            let isContinuous = arrived.last.map { now - $0 < silence } ?? false
            publishers[index].liveSince = isContinuous ? publishers[index].liveSince ?? now : nil
        }
        update(at: now)
    }

    // MARK: Outputs

    /// Removes and returns the outputs in their order.
    mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    /// A word for the state: `off`, `idle`, `waiting` for the first media, `live`, `fallback`, or `missing` media.
    var stateName: String {
        if !isOn { return "off" }
        if !isOpen { return isIdle ? "idle" : "waiting" }
        guard emptySince == nil else { return "missing" }
        return publishers.contains { $0.id == selected && $0.role == .fallback } ? "fallback" : "live"
    }

    /// Whether nothing happens until the next input.
    var isIdle: Bool {
        viewers == 0 && publishers.isEmpty && !isOpen && source.deadline == nil && fallback.deadline == nil
            && !source.isRunning && !fallback.isRunning
    }

    // MARK: Decisions

    /// The silence after which another publisher is selected.
    private var silence: TimeSpan {
        let usable = publishers.count { $0.role != .fallback && $0.arrivals.isDecodable }
        return declaration.hasStandby && usable > 1 ? Self.standbySilence : Self.silence
    }

    /// The order of preference, lowest first. With a standby it is that of joining, after the source; otherwise the
    /// newest publisher is preferred.
    private func rank(_ publisher: Publisher) -> Int {
        switch publisher.role {
        case .source: declaration.hasStandby ? -1 : Int.max - 1
        case .publisher: declaration.hasStandby ? publisher.order : -publisher.order
        case .fallback: Int.max
        }
    }

    /// Whether viewers can receive a publisher's media now.
    private func isUsable(_ publisher: Publisher, at now: Instant) -> Bool {
        guard publisher.arrivals.isDecodable, let last = publisher.arrivals.last else { return false }
        return now - last < (publisher.role == .fallback ? Self.silence : silence)
    }

    private mutating func update(at now: Instant) {
        updateTimes(at: now)
        updateJobs(at: now)
        updateOpening(at: now)
        if isOpen { updateSelection(at: now) }
    }

    private mutating func updateTimes(at now: Instant) {
        let hasMedia = publishers.contains { $0.role != .fallback && isUsable($0, at: now) }
        missingSince = hasMedia ? nil : missingSince ?? now
        let isEmpty = !hasMedia && !publishers.contains { $0.role == .fallback && isUsable($0, at: now) }
        emptySince = isEmpty ? emptySince ?? now : nil
    }

    private mutating func updateJobs(at now: Instant) {
        let isWatched = unwatchedSince.map { now - $0 < closeAfter } ?? true
        let wantsSource = isOn && declaration.source != nil && (!declaration.isOnDemand || isWatched)
        switch source.update(isWanted: wantsSource, at: now) {
        case true: outputs.append(.startSource)
        case false: outputs.append(.stopSource)
        default: break
        }
        let isMissing =
            if isOpen {
                missingSince.map { now - $0 >= Self.fallbackDelay } ?? false
            } else {
                missingSince != nil && watchedSince.map { now - $0 >= Self.openingDelay } ?? false
            }
        // A fallback that runs continues until the selected publisher has replaced it.
        let isFallbackSelected = publishers.contains { $0.role == .fallback && $0.id == selected }
        let isNeeded = isMissing || isFallbackSelected && fallback.isRunning
        // Before the stream opens, there is no frame that a slate could show.
        let hasFallback = declaration.fallback != nil || hasSlate && isOpen
        let wantsFallback = isOn && hasFallback && viewers > 0 && isNeeded
        switch fallback.update(isWanted: wantsFallback, at: now) {
        case true: outputs.append(.startFallback)
        case false: outputs.append(.stopFallback)
        default: break
        }
    }

    private mutating func updateOpening(at now: Instant) {
        guard isOn else { return }
        if !isOpen {
            if let opensAfter, now < opensAfter { return }
            let usable = publishers.filter { isUsable($0, at: now) }
            guard let first = usable.min(by: { rank($0) < rank($1) }) else { return }
            isOpen = true
            outputs.append(.open(like: first.id))
            return
        }
        guard let emptySince else { return }
        let isUnwatched = unwatchedSince.map { now - $0 >= closeAfter } ?? false
        let isGone = publishers.isEmpty && isUnwatched && (declaration.isOnDemand || now - emptySince >= closeAfter)
        if isGone || now - emptySince >= Self.longestGap { close() }
    }

    private mutating func close() {
        isOpen = false
        selected = nil
        outputs.append(.close)
    }

    private mutating func updateSelection(at now: Instant) {
        let usable = publishers.filter { isUsable($0, at: now) }
        guard let best = usable.min(by: { rank($0) < rank($1) }) else { return }
        guard let current = publishers.first(where: { $0.id == selected }) else {
            return select(best.id, selected == nil ? .began : best.role == .fallback ? .fallback : .left, at: now)
        }
        guard best.id != current.id else { return }
        if current.role == .fallback { return select(best.id, .returned, at: now) }
        guard isUsable(current, at: now) else {
            return select(best.id, best.role == .fallback ? .fallback : .silent, at: now)
        }
        guard declaration.hasStandby else { return select(best.id, .replaced, at: now) }
        // The stream returns to the preferred publisher when its media are steady, unless an operator has decided.
        guard declaration.switchesBack, operated != current.id, let since = best.liveSince,
            now - since >= Self.returnTime
        else { return }
        select(best.id, .returned, at: now)
    }

    private mutating func select(_ id: StreamID, _ reason: Reason, at now: Instant) {
        let former = selected
        selected = id
        lastSwitch = (id, reason, now)
        outputs.append(.select(id))
        outputs.append(.switched(to: id, reason))
        // Without a standby, the publishers before the new one have no purpose any more.
        guard !declaration.hasStandby, let chosen = publishers.first(where: { $0.id == id }), chosen.role == .publisher
        else { return }
        for publisher in publishers
        where publisher.role == .publisher && publisher.order < chosen.order && publisher.id != id {
            outputs.append(.end(publisher.id))
        }
        if operated == former { operated = nil }
    }
}
