public import PCastCore

/// The state machine of an overlay. It decides which messages its pages receive, which of their requests are performed,
/// when the overlay is ready, and when it is destroyed.
///
/// It receives events and the time as inputs and does no I/O itself. Pages with a controller token control the player
/// and make the overlay ready; all others only view it. An invalid message of one page does not affect another.
public struct OverlayCore: Machine, Sendable {
    /// The timeouts and limits of an overlay.
    public struct Configuration: Hashable, Sendable {
        /// The time without a sign of life of a controller after which a warning is raised.
        public var warning: Duration
        /// The time without a sign of life after which the overlay is destroyed; nil for never.
        public var fatal: Duration?
        /// Whether the timeouts also apply before the first controller has connected.
        public var expectsPages: Bool
        /// The interval at which pages are asked for a sign of life.
        public var keepAlive: Duration
        /// The maximum number of connected controllers, and of connected viewing pages.
        public var pageLimit: Int

        /// Creates a configuration.
        public init(
            warning: Duration = .seconds(10), fatal: Duration? = .seconds(30), expectsPages: Bool = true,
            keepAlive: Duration = .seconds(4), pageLimit: Int = 64
        ) {
            (self.warning, self.fatal, self.expectsPages) = (warning, fatal, expectsPages)
            (self.keepAlive, self.pageLimit) = (keepAlive, pageLimit)
        }
    }

    /// The phases of the lifecycle, in order. Only ``ready`` may return to ``loading``.
    public enum Phase: Hashable, Sendable {
        /// The overlay has not been created.
        case idle
        /// The overlay was created but is not loaded.
        case created
        /// The overlay is loaded, but the player or a controller is not ready.
        case loading
        /// The player is ready, and a controller receives messages and has loaded.
        case ready
        /// The overlay is destroyed, which is final.
        case destroyed
    }

    /// An event for the overlay.
    public enum Input: Sendable {
        /// The application creates the overlay.
        case create
        /// The application loads the overlay, or resumes it after a pause.
        case load
        /// The application pauses the overlay. Pages then receive no messages and their requests are rejected, until it
        /// is loaded again.
        case pause
        /// The application destroys the overlay.
        case destroy
        /// The application, a plugin or the player sends a message. `isPublished` is true if listeners have already
        /// received it.
        case post(OverlayMessage, isPublished: Bool)
        /// A message for one page, if it receives messages; used for the state of a plugin when the page is new.
        case message(OverlayPage.ID, OverlayMessage)
        /// The playhead has moved to a new epoch, of a new item or, after a seek, of the same item.
        case epoch(Int64, isNewItem: Bool)
        /// A page has connected.
        case pageOpened(OverlayPage.ID, isController: Bool, sendsMessages: Bool = false)
        /// A page has sent a text message.
        case pageMessage(OverlayPage.ID, String)
        /// A page has sent a binary message, which is an error.
        case pageBinaryMessage(OverlayPage.ID)
        /// A page has disconnected.
        case pageClosed(OverlayPage.ID)
    }

    /// An action for the caller.
    public enum Output: Hashable, Sendable {
        /// Deliver a message to all listeners. If it `isPublished`, those that use notifications already have it.
        case notify(OverlayMessage, isPublished: Bool)
        /// Forward a command to the player.
        case command(OverlayMessage)
        /// A page has output, which ``takeOutgoing(for:)`` returns.
        case wake(OverlayPage.ID)
        /// The overlay was created.
        case created
        /// The overlay was loaded or resumed.
        case loaded
        /// The overlay was paused.
        case paused
        /// The overlay was destroyed.
        case destroyed
    }

    /// The next output of a page's connection.
    public enum Outgoing: Hashable, Sendable {
        /// A text message to send.
        case text(String)
        /// The connection is to be closed with a reason.
        case close(OverlayClosing)
    }

    let configuration: Configuration
    /// The current phase.
    public internal(set) var phase = Phase.idle
    /// Whether the overlay is paused.
    public internal(set) var isPaused = false
    /// The status that the producer or the application has set.
    public internal(set) var status = OverlayStatus.enabled
    var pages: [OverlayPage.ID: OverlayPage] = [:]
    var outputs: [Output] = []
    var watchdog: OverlayWatchdog
    /// The time since which no controller has been ready; nil if one is or none is expected.
    var missingSince: Instant?
    /// The latest time that the state machine has received.
    var lastNow = Instant(nanoseconds: .min)

    // State that a new page receives.
    var isPlayerReady = false
    var language: String?
    /// The language message that a page has sent last.
    var languageMessage: OverlayMessage?
    /// The last report of each kind that describes the state.
    var lastReports: [OverlayEventName: OverlayReport] = [:]
    /// The pages that began to receive messages since ``takeBegun()`` was last called.
    var begun: [OverlayPage.ID] = []
    /// The current epoch of the playhead.
    var epoch: Int64 = 0
    /// The first epoch of the current item.
    var itemEpoch: Int64 = 0

    /// Creates an overlay in the phase ``Phase/idle``.
    public init(_ configuration: Configuration = Configuration()) {
        self.configuration = configuration
        watchdog = OverlayWatchdog(
            warning: TimeSpan(configuration.warning), fatal: configuration.fatal.map { TimeSpan($0) })
    }

    // MARK: Queries

    /// The controllers that receive messages.
    var controllers: some Sequence<OverlayPage> {
        pages.values.lazy.filter { $0.isController && $0.isListening && $0.closing == nil }
    }

    /// The number of connected pages, including those that are being closed.
    public var pageCount: Int { pages.count }

    /// Whether the overlay is destroyed.
    public var isOver: Bool { phase == .destroyed }

    /// Whether the overlay is loaded and not destroyed.
    private var isActive: Bool { phase == .loading || phase == .ready }

    // MARK: State machine

    /// Handles an event. Outputs are then available from ``poll()``.
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
        case .message(let id, let message): sendMessage(id, message)
        case .epoch(let number, let isNewItem):
            epoch = max(epoch, number)
            // Epochs may arrive out of order: if the item is reported late, its seeks may have been reported before.
            if isNewItem { itemEpoch = max(itemEpoch, number) }
        case .pageOpened(let id, let isController, let sendsMessages):
            open(id, isController, sendsMessages: sendsMessages, at: now)
        case .pageMessage(let id, let text): handle(text, from: id, at: now)
        case .pageBinaryMessage(let id): reportProtocolError(id, OverlayWireError.notText.description)
        case .pageClosed(let id):
            pages[id] = nil
            updateReadinessAfterLoss(at: now)
        }
        look(at: now)
    }

    /// Sends keep-alive requests that are due, and handles timeouts. Times before the latest one are ignored.
    public mutating func advance(to now: Instant) {
        guard now >= lastNow else { return }
        lastNow = now
        guard isActive else { return }
        for (id, page) in pages {
            guard let due = page.nextKeepAlive, now >= due else { continue }
            pages[id]?.nextKeepAlive = now.advanced(by: configuration.keepAlive)
            sendReport(id, OverlayReport(.bridgeKeepAlive))
        }
        guard let expiry = watchdog.advance(to: now), let since = watchdog.silentSince else { return }
        let seconds = Int((now - since).seconds.rounded())
        raise(
            .bridgeConnectivity(
                level: expiry == .fatal ? .fatal : .warning,
                reason: "no message arrived from the overlay for \(seconds) s"))
    }

    /// Returns the next output; nil if there is none.
    public mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The time at which ``advance(to:)`` must be called; nil if the overlay is not loaded.
    public var deadline: Instant? {
        guard isActive else { return nil }
        return pages.values.reduce(watchdog.deadline) { Instant.earlier($0, $1.nextKeepAlive) }
    }

    /// Returns whether the rate limit of a page allows a ping or pong, which counts as a message. Returns false for an
    /// unknown page.
    public mutating func admitsControl(of id: OverlayPage.ID, at now: Instant) -> Bool {
        pages[id]?.maySendMessage(at: now) ?? false
    }

    /// Returns whether a page is being closed.
    public func isClosing(_ id: OverlayPage.ID) -> Bool { pages[id]?.closing != nil }

    /// Returns the next output of a page's connection, which calls it again when that was sent. Returns nil if there is
    /// none.
    public mutating func takeOutgoing(for id: OverlayPage.ID) -> Outgoing? {
        guard let text = pages[id]?.takeText() else { return pages[id]?.closing.map { .close($0) } }
        return .text(text)
    }

    /// Returns each page that began to receive messages since the last call. It has received the state of the player
    /// and the programme, and nothing else.
    public mutating func takeBegun() -> [OverlayPage.ID] {
        defer { begun = [] }
        return begun
    }

    // MARK: Lifecycle

    /// Loads the overlay, or resumes it if it is paused.
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
            updateReadiness()
        }
    }

    /// Destroys the overlay and closes all its pages.
    mutating func destroy(_ closing: OverlayClosing) {
        guard phase != .destroyed else { return }
        phase = .destroyed
        for id in pages.keys { close(id, closing) }
        outputs.append(.destroyed)
    }

    /// Reports an error to listeners and pages. A fatal error destroys the overlay.
    mutating func raise(_ error: OverlayError, isPublished: Bool = false) {
        guard phase != .destroyed else { return }
        notify(.easeLiveError(error), isPublished: isPublished)
        broadcast(.easeLiveError(error))
        if error.isFatal { destroy(.destroyed) }
    }

    /// Outputs a message for all listeners.
    mutating func notify(_ message: OverlayMessage, isPublished: Bool = false) {
        outputs.append(.notify(message, isPublished: isPublished))
    }

    // MARK: Readiness

    /// Makes a loading overlay ready if the player and a controller are ready.
    mutating func updateReadiness() {
        guard phase == .loading, isPlayerReady, controllers.contains(where: \.hasLoaded) else { return }
        phase = .ready
        notify(.easeLiveReady)
    }

    /// Returns a ready overlay to loading if no controller is ready any more.
    mutating func updateReadinessAfterLoss(at now: Instant) {
        guard isActive, !controllers.contains(where: \.hasLoaded) else { return }
        if missingSince == nil { missingSince = now }
        if phase == .ready { phase = .loading }
    }

    /// Updates the time since which no controller has given a sign of life.
    private mutating func look(at now: Instant) {
        guard isActive else { return watchdog.set(silentSince: nil) }
        if let lastReceivedAt = controllers.filter(\.hasLoaded).map(\.lastReceivedAt).max() {
            missingSince = nil
            return watchdog.set(silentSince: lastReceivedAt)
        }
        let isExpected = configuration.expectsPages || pages.values.contains { $0.isController && $0.closing == nil }
        // If no page is expected, the time before one connects does not count.
        missingSince = isExpected ? missingSince ?? now : nil
        watchdog.set(silentSince: missingSince)
    }
}

/// Measures the time without a sign of life and reports when it exceeds the timeouts.
struct OverlayWatchdog {
    /// A timeout that has passed.
    enum Expiry: Equatable { case warning, fatal }

    /// The time without a sign of life after which a warning is due.
    let warning: TimeSpan
    /// The time without a sign of life after which a fatal error is due; nil for never.
    let fatal: TimeSpan?

    /// The time since which there has been no sign of life; nil if none is expected.
    private(set) var silentSince: Instant?
    /// The last timeout that was reported since the last sign of life.
    private var lastReported: Expiry?

    init(warning: TimeSpan, fatal: TimeSpan?) { (self.warning, self.fatal) = (warning, fatal) }

    /// Sets the time of the last sign of life, or from which one is expected; nil if none is expected.
    mutating func set(silentSince instant: Instant?) {
        guard instant != silentSince else { return }
        silentSince = instant
        lastReported = nil
    }

    /// The time of the next timeout; nil if there is none.
    var deadline: Instant? {
        guard let silentSince else { return nil }
        switch lastReported {
        case nil: return Instant.earlier(silentSince + warning, fatal.map { silentSince + $0 })
        case .warning?: return fatal.map { silentSince + $0 }
        case .fatal?: return nil
        }
    }

    /// Returns the timeout that has passed; nil if there is none.
    mutating func advance(to now: Instant) -> Expiry? {
        guard let silentSince, let deadline, now >= deadline else { return nil }
        lastReported = fatal.map { now >= silentSince + $0 } == true ? .fatal : .warning
        return lastReported
    }
}
