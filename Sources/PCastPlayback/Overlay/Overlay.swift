import Dispatch
public import Foundation
import PCastCore
import PCastIO
public import PCastOverlay
import Synchronization

/// The overlay of a program: web pages over the video that follow and control the player (Ease Live's `EaseLive`).
///
///     let overlay = try Overlay(program: "final", player: PlayerOverlayPlugin(player))
///     let bridge = OverlayBridge([overlay])
///     async let serving: Void = bridge.run { print(bridge.address(of: overlay, port: $0)) }
///     overlay.load()
///
/// Each message is posted to a notification center, both by name and as the type ``OverlayNotification``. Plugins and
/// the readers of ``messages()`` receive the same messages in the same order. A fatal error destroys the overlay. All
/// methods may be called from any thread and from observers.
public final class Overlay: Sendable {
    fileprivate struct State: Sendable {
        var core: OverlayCore
        var outbox: [OverlayCore.Output] = []
        var isDelivering = false
        var plugins: [any OverlayPlugin] = []
        /// The added plugins that have not received the past events of the lifecycle yet.
        var newPlugins: [any OverlayPlugin] = []
        /// The events of the lifecycle that plugins have received.
        var reportedCreated = false
        var reportedLoaded = false
        var players: [any OverlayPlayerPlugin] = []
        var wakes: [OverlayPage.ID: @Sendable () -> Void] = [:]
        var lastPage = 0
        /// The time of the scheduled timer; nil for none.
        var timerDeadline: Instant?
        var readers = StreamReaders<OverlayMessage>(.unbroken(4_096))
    }

    /// The maximum number of outputs that wait for delivery. Further messages of pages are dropped.
    private static let maximumWaiting = 4_096

    /// The name of the program in addresses: letters, digits, `.`, `-` and `_`.
    public let program: String
    /// The secret token with which pages may control the player.
    public let controllerToken: String

    private let hub: OverlayNotificationHub
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "pcast.overlay")

    /// Creates an overlay that is not loaded. `program` has 1 to 64 letters, digits, `.`, `-` and `_`. `player` adapts
    /// the player; if it is nil, the application posts the player's messages and carries out the requests. `center`
    /// receives the notifications. Throws ``OverlayError/bridgeInit(level:reason:)`` if `program` is not valid.
    public init(
        program: String, player: (any OverlayPlayerPlugin)? = nil,
        configuration: OverlayCore.Configuration = OverlayCore.Configuration(), center: NotificationCenter = .default
    ) throws(OverlayError) {
        guard OverlayEnvelope.isName(program), program != ".", program != ".." else {
            throw .bridgeInit(
                level: .fatal,
                reason: "“\(program)” is not a valid name: use 1 to 64 letters, digits, dots, dashes and underscores")
        }
        self.program = program
        var generator = SystemRandomNumberGenerator()
        controllerToken = (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 36)
            return String(repeating: "0", count: 13 - digits.count) + digits
        }.joined()
        hub = OverlayNotificationHub.shared(center)
        state = Mutex(State(core: OverlayCore(configuration)))
        if let player {
            state.withLock { state in
                state.plugins.append(player)
                state.players.append(player)
            }
        }
        hub.add(self)
    }

    deinit {
        state.withLock { $0.readers.finish() }
    }

    // MARK: Lifecycle

    /// Prepares the overlay. It does not accept pages yet.
    public func create() { handle(.create) }

    /// Accepts pages and waits for one, or resumes after a pause. It also creates the overlay if necessary.
    public func load() { handle(.load) }

    /// Pauses the overlay. Its pages stay connected, but receive nothing, and their requests are ignored.
    public func pause() { handle(.pause) }

    /// Closes the pages and ends the overlay permanently.
    public func destroy() { handle(.destroy) }

    /// The phase of the lifecycle.
    public var phase: OverlayCore.Phase { state.withLock { $0.core.phase } }

    /// Whether the overlay is paused.
    public var isPaused: Bool { state.withLock { $0.core.isPaused } }

    /// The number of connected pages.
    public var pageCount: Int { state.withLock { $0.core.pageCount } }

    /// The status of the overlay. The application can set it, and so can a page that controls the player or the backend
    /// over HTTP. `disabled` destroys the overlay permanently.
    public var status: OverlayStatus {
        get { state.withLock { $0.core.status } }
        set { handle(.post(.bridgeAppStatus(newValue), isPublished: false)) }
    }

    // MARK: Messages

    /// Posts a message of the application or a plugin to all receivers.
    public func post(_ message: OverlayMessage) { post(message, isPublished: false) }

    /// Posts a message. `isPublished` is true if the notification center has it already.
    func post(_ message: OverlayMessage, isPublished: Bool) { handle(.post(message, isPublished: isPublished)) }

    /// Posts a message to one page only.
    public func post(_ message: OverlayMessage, to page: OverlayPage.ID) { handle(.message(page, message)) }

    /// Sets the player's epoch of the following messages.
    func setEpoch(_ epoch: PlayheadEpoch, isNewItem: Bool) {
        handle(.epoch(Int64(max(epoch.number, 0)), isNewItem: isNewItem))
    }

    /// Returns a stream of all messages from now on, in order. It ends with the overlay, or if its reader falls 4096
    /// messages behind.
    public func messages() -> AsyncStream<OverlayMessage> { state.withLock { $0.readers.add() } }

    // MARK: Plugins

    /// Adds a plugin in addition to the player plugin. If the overlay is created already, the plugin's `create(_:)` is
    /// called.
    public func use(_ plugin: any OverlayPlugin) {
        state.withLock { $0.newPlugins.append(plugin) }
        queue.async { self.admit() }
    }

    /// Adds the new plugins and calls their `create(_:)` and `load()` if these events have occurred. It runs on the
    /// queue, so each plugin receives each event once.
    private func admit() {
        let (newPlugins, isCreated, isLoaded) = state.withLock { state in
            defer { state.newPlugins = [] }
            state.plugins += state.newPlugins
            return (state.newPlugins, state.reportedCreated, state.reportedLoaded)
        }
        for plugin in newPlugins {
            if isCreated { plugin.create(self) }
            if isLoaded { plugin.load() }
        }
    }

    /// Removes all plugins except the player plugin.
    public func removeAllAdditionalPlugins() {
        state.withLock { state in
            state.plugins.removeAll { plugin in !state.players.contains { $0 === plugin } }
            state.newPlugins = []
        }
    }

    // MARK: Pages

    /// Connects a page and returns its ID. `onWake` is called, from any thread, when ``takeOutgoing(for:)`` has a
    /// message. `sendsMessages` is whether a page without a token may send messages to the application.
    func openPage(
        isController: Bool, sendsMessages: Bool = false, onWake: @escaping @Sendable (OverlayPage.ID) -> Void
    ) -> OverlayPage.ID {
        let id = state.withLock { state in
            state.lastPage += 1
            let id = OverlayPage.ID(number: state.lastPage)
            state.wakes[id] = { onWake(id) }
            return id
        }
        handle(.pageOpened(id, isController: isController, sendsMessages: sendsMessages))
        return id
    }

    /// Handles a text message of a page.
    func page(_ id: OverlayPage.ID, message text: String) {
        // If delivery is slower than the page, more messages would only increase the delay.
        let isOverrun = state.withLock { $0.outbox.count > Self.maximumWaiting }
        if !isOverrun { handle(.pageMessage(id, text)) }
    }

    /// Handles a binary message of a page, which violates the protocol.
    func pageBinaryMessage(_ id: OverlayPage.ID) { handle(.pageBinaryMessage(id)) }

    /// Returns whether a ping or pong of a page is within its rate limit, for which it counts as a message.
    func admitsControl(of id: OverlayPage.ID) -> Bool {
        state.withLock { $0.core.admitsControl(of: id, at: MonotonicClock.now()) }
    }

    /// Disconnects a page.
    func closePage(_ id: OverlayPage.ID) {
        state.withLock { $0.wakes[id] = nil }
        handle(.pageClosed(id))
    }

    /// Whether the overlay is closing the connection of a page.
    func isClosing(_ id: OverlayPage.ID) -> Bool { state.withLock { $0.core.isClosing(id) } }

    /// Returns and removes the next message for a page; nil if there is none.
    func takeOutgoing(for id: OverlayPage.ID) -> OverlayCore.Outgoing? {
        state.withLock { $0.core.takeOutgoing(for: id) }
    }

    // MARK: State machine

    /// Handles an input of the state machine.
    private func handle(_ input: OverlayCore.Input) { run { $0.handle(input, at: $1) } }

    /// Runs the state machine, and schedules its outputs and its next deadline.
    private func run(_ body: (inout OverlayCore, Instant) -> Void) {
        let (wakes, begun, begins, timerDeadline) = state.withLock { state in
            body(&state.core, MonotonicClock.now())
            var wakes: Set<OverlayPage.ID> = []
            while let output = state.core.poll() {
                if case .wake(let id) = output { wakes.insert(id) } else { state.add(output) }
            }
            let begins = !state.isDelivering && !state.outbox.isEmpty
            if begins { state.isDelivering = true }
            return (wakes.compactMap { state.wakes[$0] }, state.core.takeBegun(), begins, state.nextAlarm())
        }
        for wake in wakes { wake() }
        if begins { queue.async { self.deliver() } }
        if !begun.isEmpty { queue.async { self.begin(begun) } }
        if let timerDeadline {
            let delay = max((timerDeadline - MonotonicClock.now()).nanoseconds, 0)
            queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [weak self] in self?.timerFired() }
        }
    }

    /// Notifies the plugins of pages that connect.
    private func begin(_ pages: [OverlayPage.ID]) {
        admit()
        let plugins = state.withLock { $0.plugins }
        for page in pages {
            for plugin in plugins { plugin.begin(page) }
        }
    }

    /// Handles the timer.
    private func timerFired() {
        state.withLock { $0.timerDeadline = nil }
        run { $0.advance(to: $1) }
    }

    /// Delivers outputs until there are none.
    private func deliver() {
        while true {
            admit()
            let (outputs, plugins, players) = state.withLock { state in
                defer { state.outbox = [] }
                if state.outbox.isEmpty { state.isDelivering = false }
                return (state.outbox, state.plugins, state.players)
            }
            if outputs.isEmpty { return }
            for output in outputs { deliver(output, plugins, players) }
        }
    }

    /// Delivers one output.
    private func deliver(
        _ output: OverlayCore.Output, _ plugins: [any OverlayPlugin], _ players: [any OverlayPlayerPlugin]
    ) {
        switch output {
        case .notify(let message, let isPublished):
            if !isPublished { hub.publish(message, of: self) }
            state.withLock { $0.readers.yield(message) }
            for plugin in plugins { plugin.receive(message) }
        case .command(let command): for player in players { player.perform(command) }
        case .created:
            state.withLock { $0.reportedCreated = true }
            for plugin in plugins { plugin.create(self) }
        case .loaded:
            state.withLock { $0.reportedLoaded = true }
            for plugin in plugins { plugin.load() }
        case .paused: for plugin in plugins { plugin.pause() }
        case .destroyed:
            hub.remove(self)
            state.withLock { ($0.reportedCreated, $0.reportedLoaded) = (false, false) }
            for plugin in plugins { plugin.destroy() }
            state.withLock { $0.readers.finish() }
        case .wake: break
        }
    }

    /// Waits until all current outputs were delivered.
    public func settled() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

extension Overlay.State {
    /// Adds an output. A newer player time replaces one that waits, because no other message is as frequent.
    fileprivate mutating func add(_ output: OverlayCore.Output) {
        if case .notify(.playerTime, false) = output, case .notify(.playerTime, false)? = outbox.last {
            outbox[outbox.count - 1] = output
        } else {
            outbox.append(output)
        }
    }

    /// Returns the time for a new timer; nil if the current timer is early enough.
    fileprivate mutating func nextAlarm() -> Instant? {
        guard let deadline = core.deadline, timerDeadline.map({ deadline < $0 }) ?? true else { return nil }
        timerDeadline = deadline
        return deadline
    }
}
