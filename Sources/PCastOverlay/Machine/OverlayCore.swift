public import PCastMedia

/// What an overlay is, and decides: its life, its pages, what each of them is told and may ask, when it is ready, and when it
/// is given up. It is told what happens and the time, polled for what is to be done, and does nothing itself.
///
/// Pages with a controller token steer, and make it ready; all others look on. What one page does wrong changes nothing for
/// anyone else.
public struct OverlayCore: Machine, Sendable {
    public struct Configuration: Hashable, Sendable {
        /// Without a sign of life of a page that steers, a warning is raised after so long.
        public var warning: TimeSpan
        /// And the overlay is destroyed after so long; nil for never.
        public var fatal: TimeSpan?
        /// Silence before the first page has come counts as well.
        public var expectsPages: Bool
        /// How often pages are asked for a sign of life.
        public var keepAlive: TimeSpan
        /// Connected at once: so many that steer, and so many that look on.
        public var pageLimit: Int

        public init(
            warning: TimeSpan = .seconds(10 as Int64), fatal: TimeSpan? = .seconds(30 as Int64),
            expectsPages: Bool = true, keepAlive: TimeSpan = .seconds(4 as Int64), pageLimit: Int = 64
        ) {
            (self.warning, self.fatal, self.expectsPages) = (warning, fatal, expectsPages)
            (self.keepAlive, self.pageLimit) = (keepAlive, pageLimit)
        }
    }

    /// Where it is in its life.
    public enum Phase: Hashable, Sendable {
        case idle
        case created
        /// Something is missing of what ``ready`` wants.
        case loading
        /// The player is ready, and a page that steers listens and has loaded.
        case ready
        case destroyed
    }

    public enum Input: Sendable {
        case create
        /// Also after a pause.
        case load
        /// Pages are told nothing, and nothing that they ask is done, until it is loaded again.
        case pause
        case destroy
        /// Of the application, a plugin, or the player.
        ///
        /// - Parameter isPublished: all who listen have it already.
        case post(OverlayMessage, isPublished: Bool)
        /// To one page, if it listens: what is so, for one that has just come.
        case tell(OverlayPage.ID, OverlayMessage)
        /// The player's playhead belongs to this epoch from now on; an item of its own, or the same by a seek.
        case epoch(Int64, isNewItem: Bool)
        case pageOpened(OverlayPage.ID, isController: Bool)
        case pageSaid(OverlayPage.ID, String)
        /// Bytes, where text is spoken.
        case pageSaidBytes(OverlayPage.ID)
        case pageClosed(OverlayPage.ID)
    }

    public enum Output: Hashable, Sendable {
        /// Everyone is to hear of it; those who listen by notifications have it already if it `isPublished`.
        case notify(OverlayMessage, isPublished: Bool)
        /// The player is to do it.
        case command(OverlayMessage)
        /// Something waits for a page, that ``takeOutgoing(for:)`` hands out.
        case wake(OverlayPage.ID)
        case created
        case loaded
        case paused
        case destroyed
    }

    /// What a page's connection is to do next.
    public enum Outgoing: Hashable, Sendable {
        case text(String)
        /// Say so, and close.
        case close(OverlayClosing)
    }

    let configuration: Configuration
    public internal(set) var phase = Phase.idle
    public internal(set) var isPaused = false
    public internal(set) var status = OverlayStatus.enabled
    var pages: [OverlayPage.ID: OverlayPage] = [:]
    var outputs: [Output] = []
    var watchdog: OverlayWatchdog
    /// From when on a page is missing.
    var missingSince: Instant?
    var lastNow = Instant(nanoseconds: .min)

    // What a page is told that comes later.
    var isPlayerReady = false
    var language: String?
    var spoken: OverlayMessage?
    var told: [OverlayEventName: OverlayReport] = [:]
    /// Pages that were told it since somebody asked.
    var begun: [OverlayPage.ID] = []
    var epoch: Int64 = 0
    /// Where the epochs of the item that is played begin.
    var itemEpoch: Int64 = 0

    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        watchdog = OverlayWatchdog(warning: configuration.warning, fatal: configuration.fatal)
    }

    // MARK: Looking

    /// Those that steer and listen.
    var controllers: some Sequence<OverlayPage> {
        pages.values.lazy.filter { $0.isController && $0.isListening && $0.closing == nil }
    }

    public var pageCount: Int { pages.count }

    /// Nothing more comes of it.
    public var isOver: Bool { phase == .destroyed }

    private var isActive: Bool { phase == .loading || phase == .ready }

    // MARK: The machine

    public mutating func handle(_ input: Input, at now: Instant) {
        advance(to: now)
        switch input {
        case .create:
            guard phase == .idle else { break }
            phase = .created
            outputs.append(.created)
        case .load: load(at: now)
        case .pause:
            guard isActive, !isPaused else { break }
            isPaused = true
            outputs.append(.paused)
        case .destroy: destroy(.destroyed)
        case .post(let message, let isPublished): post(message, isPublished: isPublished)
        case .tell(let id, let message): tell(id, message)
        case .epoch(let number, let isNewItem):
            epoch = max(epoch, number)
            // Told late, the item's seeks may have been told before it.
            if isNewItem { itemEpoch = max(itemEpoch, number) }
        case .pageOpened(let id, let isController): open(id, isController, at: now)
        case .pageSaid(let id, let text): hear(text, from: id, at: now)
        case .pageSaidBytes(let id): blame(id, OverlayWireError.notText.description)
        case .pageClosed(let id):
            pages[id] = nil
            loseReadiness(at: now)
        }
        look(at: now)
    }

    public mutating func advance(to now: Instant) {
        guard now >= lastNow else { return }
        lastNow = now
        guard isActive else { return }
        for (id, page) in pages {
            guard let due = page.nextKeepAlive, now >= due else { continue }
            pages[id]?.nextKeepAlive = now + configuration.keepAlive
            tell(id, OverlayReport(.bridgeKeepAlive))
        }
        guard let bark = watchdog.advance(to: now), let since = watchdog.silentSince else { return }
        let seconds = Int((now - since).seconds.rounded())
        raise(
            .bridgeConnectivity(
                level: bark == .fatal ? .fatal : .warning, reason: "nothing was heard of the overlay for \(seconds) s"))
    }

    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    public var deadline: Instant? {
        guard isActive else { return nil }
        return pages.values.reduce(watchdog.deadline) { Instant.earlier($0, $1.nextKeepAlive) }
    }

    /// The page is told goodbye, or will be when it takes that.
    public func isClosing(_ id: OverlayPage.ID) -> Bool { pages[id]?.closing != nil }

    /// What a page's connection is to do next; nil for nothing. Asked for when its last was done.
    public mutating func takeOutgoing(for id: OverlayPage.ID) -> Outgoing? {
        guard let text = pages[id]?.takeText() else { return pages[id]?.closing.map { .close($0) } }
        return .text(text)
    }

    /// The pages that begin to be told things, each once: they know what is so of player and programme, and nothing else yet.
    public mutating func takeBegun() -> [OverlayPage.ID] {
        defer { begun = [] }
        return begun
    }

    // MARK: Its life

    private mutating func load(at now: Instant) {
        if phase == .idle {
            phase = .created
            outputs.append(.created)
        }
        if isActive, isPaused {
            isPaused = false
            outputs.append(.loaded)
            for (id, page) in pages where page.isListening { replay(to: id) }
        } else if phase == .created, status != .disabled {
            phase = .loading
            missingSince = now
            outputs.append(.loaded)
            settleReadiness()
        }
    }

    mutating func destroy(_ closing: OverlayClosing) {
        guard phase != .destroyed else { return }
        phase = .destroyed
        for id in pages.keys { close(id, closing) }
        outputs.append(.destroyed)
    }

    /// - Parameter error: fatal ones are the end.
    mutating func raise(_ error: OverlayError, isPublished: Bool = false) {
        guard phase != .destroyed else { return }
        notify(.easeLiveError(error), isPublished: isPublished)
        broadcast(.easeLiveError(error))
        if error.isFatal { destroy(.destroyed) }
    }

    mutating func notify(_ message: OverlayMessage, isPublished: Bool = false) {
        outputs.append(.notify(message, isPublished: isPublished))
    }

    // MARK: Readiness

    /// It is ready when nothing is missing.
    mutating func settleReadiness() {
        guard phase == .loading, isPlayerReady, controllers.contains(where: \.hasLoaded) else { return }
        phase = .ready
        notify(.easeLiveReady)
    }

    /// A page has gone, or loads anew.
    mutating func loseReadiness(at now: Instant) {
        guard isActive, !controllers.contains(where: \.hasLoaded) else { return }
        if missingSince == nil { missingSince = now }
        if phase == .ready { phase = .loading }
    }

    /// Since when nothing was heard.
    private mutating func look(at now: Instant) {
        guard isActive else { return watchdog.set(silentSince: nil) }
        if let heard = controllers.filter(\.hasLoaded).map(\.heardAt).max() {
            missingSince = nil
            return watchdog.set(silentSince: heard)
        }
        let isExpected = configuration.expectsPages || pages.values.contains { $0.isController && $0.closing == nil }
        // Where none is expected, none is missed from before one came.
        missingSince = isExpected ? missingSince ?? now : nil
        watchdog.set(silentSince: missingSince)
    }
}
