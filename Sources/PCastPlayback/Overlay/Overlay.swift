import Dispatch
public import Foundation
import PCastCore
import PCastIO
public import PCastOverlay
import Synchronization

/// The overlay of one programme (seed 000, Ease Live's `EaseLive`): web pages over the picture, that follow the player and
/// steer it.
///
///     let overlay = try Overlay(program: "final", player: PlayerOverlayPlugin(player))
///     let bridge = OverlayBridge([overlay])
///     async let serving: Void = bridge.run { print(bridge.address(of: overlay, port: $0)) }
///     overlay.load()
///
/// What happens is posted to a notification centre, in the classic way and by types (``OverlayNotification``), told to plugins,
/// and to whoever reads ``messages()``; all in one order. A fatal error destroys it. May be called from any thread, and from
/// observers.
public final class Overlay: Sendable {
    fileprivate struct State: Sendable {
        var core: OverlayCore
        var outbox: [OverlayCore.Output] = []
        var isDelivering = false
        var plugins: [any OverlayPlugin] = []
        /// Added, and not told yet what was told to the others.
        var newcomers: [any OverlayPlugin] = []
        /// What plugins were told of its life.
        var toldCreated = false
        var toldLoaded = false
        var players: [any OverlayPlayerPlugin] = []
        var wakes: [OverlayPage.ID: @Sendable () -> Void] = [:]
        var lastPage = 0
        /// When it is looked at next.
        var alarm: Instant?
        var readers = StreamReaders<OverlayMessage>(.everything(4_096))
    }

    /// What waits to be told at most; a page that says more then is closed.
    private static let mostWaiting = 4_096

    /// Names it in addresses: letters, digits, `.`, `-` and `_`.
    public let program: String
    /// Pages that have it may steer. A secret.
    public let controllerToken: String

    private let hub: OverlayNotificationHub
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "pcast.overlay")

    /// - Parameters:
    ///   - program: of 1 to 64 letters, digits, `.`, `-` and `_`.
    ///   - player: who plays; nil where the application posts what a player does, and does what is asked for.
    ///   - center: where notifications are posted.
    /// - Throws: `bridgeInit` for a name that is none.
    public init(
        program: String, player: (any OverlayPlayerPlugin)? = nil,
        configuration: OverlayCore.Configuration = OverlayCore.Configuration(), center: NotificationCenter = .default
    ) throws(OverlayError) {
        guard OverlayEnvelope.isName(program), program != ".", program != ".." else {
            throw .bridgeInit(
                level: .fatal, reason: "“\(program)” is no name: 1 to 64 letters, digits, dots, dashes and underscores")
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

    // MARK: Its life

    /// Prepares it; pages are not taken yet.
    public func create() { handle(.create) }

    /// Takes pages, and begins to wait for one; goes on after a pause. Creates it first where that was not done.
    public func load() { handle(.load) }

    /// Pages stay, are told nothing, and what they ask is not done.
    public func pause() { handle(.pause) }

    /// Closes its pages; the end of it.
    public func destroy() { handle(.destroy) }

    public var phase: OverlayCore.Phase { state.withLock { $0.core.phase } }

    public var isPaused: Bool { state.withLock { $0.core.isPaused } }

    public var pageCount: Int { state.withLock { $0.core.pageCount } }

    /// As the producer says. A programme that is disabled loses its overlay for good.
    public var status: OverlayStatus {
        get { state.withLock { $0.core.status } }
        set { handle(.post(.bridgeAppStatus(newValue), isPublished: false)) }
    }

    // MARK: What is said

    /// Says something, for everyone who should hear it: as an application, or a plugin.
    public func post(_ message: OverlayMessage) { post(message, isPublished: false) }

    func post(_ message: OverlayMessage, isPublished: Bool) { handle(.post(message, isPublished: isPublished)) }

    /// Says something to one page alone; nobody else hears of it.
    public func post(_ message: OverlayMessage, to page: OverlayPage.ID) { handle(.tell(page, message)) }

    /// What follows is of another epoch of the player's.
    func setEpoch(_ epoch: PlayheadEpoch, isNewItem: Bool) {
        handle(.epoch(Int64(max(epoch.number, 0)), isNewItem: isNewItem))
    }

    /// All that is said from now on, in order. Ends with the overlay, or when its reader falls behind by 4096.
    public func messages() -> AsyncStream<OverlayMessage> { state.withLock { $0.readers.add() } }

    // MARK: Plugins

    /// Adds a plugin beside the player's. One that is created already is told so.
    public func use(_ plugin: any OverlayPlugin) {
        state.withLock { $0.newcomers.append(plugin) }
        queue.async { self.admit() }
    }

    /// On the queue, where plugins are told: each hears of its creation once, whenever it comes.
    private func admit() {
        let (newcomers, isCreated, isLoaded) = state.withLock { state in
            defer { state.newcomers = [] }
            state.plugins += state.newcomers
            return (state.newcomers, state.toldCreated, state.toldLoaded)
        }
        for plugin in newcomers {
            if isCreated { plugin.create(self) }
            if isLoaded { plugin.load() }
        }
    }

    /// All but the player's.
    public func removeAllAdditionalPlugins() {
        state.withLock { state in
            state.plugins.removeAll { plugin in !state.players.contains { $0 === plugin } }
            state.newcomers = []
        }
    }

    // MARK: Pages

    /// - Parameter onWake: called, by whoever has something for it, when ``takeOutgoing(for:)`` has something.
    func openPage(
        isController: Bool, onWake: @escaping @Sendable (OverlayPage.ID) -> Void
    ) -> OverlayPage.ID {
        let id = state.withLock { state in
            state.lastPage += 1
            let id = OverlayPage.ID(number: state.lastPage)
            state.wakes[id] = { onWake(id) }
            return id
        }
        handle(.pageOpened(id, isController: isController))
        return id
    }

    func page(_ id: OverlayPage.ID, said text: String) {
        // Who listens is slower than who speaks; nothing is gained by hearing more.
        let isOverrun = state.withLock { $0.outbox.count > Self.mostWaiting }
        if !isOverrun { handle(.pageSaid(id, text)) }
    }

    func pageSaidBytes(_ id: OverlayPage.ID) { handle(.pageSaidBytes(id)) }

    func closePage(_ id: OverlayPage.ID) {
        state.withLock { $0.wakes[id] = nil }
        handle(.pageClosed(id))
    }

    func isClosing(_ id: OverlayPage.ID) -> Bool { state.withLock { $0.core.isClosing(id) } }

    func takeOutgoing(for id: OverlayPage.ID) -> OverlayCore.Outgoing? {
        state.withLock { $0.core.takeOutgoing(for: id) }
    }

    // MARK: The machine

    private func handle(_ input: OverlayCore.Input) { run { $0.handle(input, at: $1) } }

    private func run(_ body: (inout OverlayCore, Instant) -> Void) {
        let (wakes, begun, begins, alarm) = state.withLock { state in
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
        if let alarm {
            let delay = max((alarm - MonotonicClock.now()).nanoseconds, 0)
            queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [weak self] in self?.ring() }
        }
    }

    private func begin(_ pages: [OverlayPage.ID]) {
        admit()
        let plugins = state.withLock { $0.plugins }
        for page in pages {
            for plugin in plugins { plugin.begin(page) }
        }
    }

    private func ring() {
        state.withLock { $0.alarm = nil }
        run { $0.advance(to: $1) }
    }

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
            state.withLock { $0.toldCreated = true }
            for plugin in plugins { plugin.create(self) }
        case .loaded:
            state.withLock { $0.toldLoaded = true }
            for plugin in plugins { plugin.load() }
        case .paused: for plugin in plugins { plugin.pause() }
        case .destroyed:
            hub.remove(self)
            state.withLock { ($0.toldCreated, $0.toldLoaded) = (false, false) }
            for plugin in plugins { plugin.destroy() }
            state.withLock { $0.readers.finish() }
        case .wake: break
        }
    }

    /// Returns when all that has happened so far has been told.
    public func settled() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

extension Overlay.State {
    /// Of times that wait to be told the newest counts, as nothing else comes as often.
    fileprivate mutating func add(_ output: OverlayCore.Output) {
        if case .notify(.playerTime, false) = output, case .notify(.playerTime, false)? = outbox.last {
            outbox[outbox.count - 1] = output
        } else {
            outbox.append(output)
        }
    }

    /// When an alarm is to be set; nil where one is that comes in time.
    fileprivate mutating func nextAlarm() -> Instant? {
        guard let deadline = core.deadline, alarm.map({ deadline < $0 }) ?? true else { return nil }
        alarm = deadline
        return deadline
    }
}
