import Dispatch
import PCastCore
import PCastIO
import Synchronization

/// An internal object that receives each event unchanged, in order with observers and consumers.
protocol PlayerEventListener: AnyObject, Sendable {
    /// Handles an event.
    func handle(_ event: PlayerEvent)
}

/// The subscription of an observer or a delegate, which are held weakly, or of a consumer or a listener.
final class EventSubscription: Sendable {
    private struct Observer: Sendable { weak let value: (any PlayerObserver)? }

    private struct Delegate: Sendable { weak let value: (any PlaybackSessionConsumer)? }

    private enum Follower: Sendable {
        case observer(Observer)
        case consumer(any PlaybackSessionConsumer)
        case delegate(Delegate)
        case listener(any PlayerEventListener)
    }

    private let follower: Follower
    private let identity: ObjectIdentifier
    private let isCancelled = Atomic(false)

    /// Creates the subscription of an observer.
    init(_ observer: any PlayerObserver) {
        follower = .observer(Observer(value: observer))
        identity = ObjectIdentifier(observer)
    }

    /// Creates the subscription of a consumer.
    init(_ consumer: any PlaybackSessionConsumer) {
        follower = .consumer(consumer)
        identity = ObjectIdentifier(consumer)
    }

    /// Creates the subscription of a delegate.
    init(delegate: any PlaybackSessionConsumer) {
        follower = .delegate(Delegate(value: delegate))
        identity = ObjectIdentifier(delegate)
    }

    /// Creates the subscription of a listener.
    init(_ listener: any PlayerEventListener) {
        follower = .listener(listener)
        identity = ObjectIdentifier(listener)
    }

    /// The delegate of the subscription while it exists; nil for any other follower.
    var delegate: (any PlaybackSessionConsumer)? {
        guard case .delegate(let delegate) = follower else { return nil }
        return delegate.value
    }

    /// Whether the subscription has ended. The release of an observer is detected only at the next event.
    var isOver: Bool { isCancelled.load(ordering: .relaxed) }

    /// Whether the other subscription is of the same object in the same role. It holds no strong reference to a
    /// different observer, even briefly, because an observer must not be released under the player's lock.
    func isSame(as other: EventSubscription) -> Bool {
        guard identity == other.identity else { return false }
        switch (follower, other.follower) {
        case (.observer(let observer), .observer): return observer.value != nil
        case (.consumer, .consumer), (.listener, .listener): return true
        case (.delegate(let delegate), .delegate): return delegate.value != nil
        default: return false
        }
    }

    /// Ends the subscription. Events that are queued already are not delivered either.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Delivers an event to the follower.
    func deliver(_ event: PlayerEvent) {
        guard !isOver else { return }
        switch follower {
        case .observer(let observer):
            guard let value = observer.value else { return cancel() }
            value.observe(event)
        case .consumer(let consumer): consumer.consume(event)
        case .delegate(let delegate):
            guard let value = delegate.value else { return cancel() }
            value.consume(event)
        case .listener(let listener): listener.handle(event)
        }
    }
}

/// All observers of a player. It is used under the player's lock, so all observers receive events in the same order.
struct PlayerObservers: Sendable {
    /// The maximum number of events that wait for a slow reader.
    private static let backlog = 4_096

    private var subscriptions: [EventSubscription] = []
    private var events = StreamReaders<PlayerEvent>(.unbroken(PlayerObservers.backlog))
    private var positions = StreamReaders<Duration>(.newest(1))

    /// Adds a subscription and returns it; nil if the same object is subscribed already.
    mutating func add(_ subscription: EventSubscription) -> EventSubscription? {
        guard !subscriptions.contains(where: { $0.isSame(as: subscription) && !$0.isOver }) else { return nil }
        subscriptions.append(subscription)
        return subscription
    }

    /// Removes a subscription. Returns the removed ones, which the caller must release after the player's lock.
    mutating func remove(_ subscription: EventSubscription) -> [EventSubscription] {
        let removed = subscriptions.filter { $0.isSame(as: subscription) }
        for subscription in removed { subscription.cancel() }
        subscriptions.removeAll(where: \.isOver)
        return removed
    }

    /// Reports an event to all.
    mutating func notify(_ event: PlayerEvent, through outbox: EventDispatcher) {
        if subscriptions.contains(where: \.isOver) { subscriptions.removeAll(where: \.isOver) }
        outbox.post(event, to: subscriptions)
        if case .progressed(.at(let position)) = event.kind { positions.yield(position) } else { events.yield(event) }
    }

    /// Returns a new stream of all events except positions.
    mutating func listen() -> AsyncStream<PlayerEvent> { events.add() }

    /// Returns a new stream of positions, which buffers only the newest.
    mutating func listenToPositions() -> AsyncStream<Duration> { positions.add() }

    /// Ends all streams.
    mutating func finish() {
        events.finish()
        positions.finish()
    }
}

/// A queue that calls the observers of a player: one call at a time, in order, on its own thread. A slow observer
/// delays the other observers of the same player, but not the player.
///
/// If several positions wait, only the newest is kept, because no other event is as frequent.
final class EventDispatcher: Sendable {
    /// An event with its receivers.
    private struct PendingEvent: Sendable {
        var event: PlayerEvent
        var subscriptions: [EventSubscription]
    }

    private struct State {
        var pendingEvents: [PendingEvent] = []
        var isDelivering = false
    }

    private let queue = DispatchQueue(label: "pcast.player.events")
    private let state = Mutex(State())

    /// Adds an event for subscriptions.
    func post(_ event: PlayerEvent, to subscriptions: [EventSubscription]) {
        guard !subscriptions.isEmpty else { return }
        let isIdle = state.withLock { state in
            let pending = PendingEvent(event: event, subscriptions: subscriptions)
            if event.isReplaceable, let last = state.pendingEvents.last, last.event.isReplaceable,
                last.event.session == event.session, last.subscriptions.count == subscriptions.count
            {
                state.pendingEvents[state.pendingEvents.count - 1] = pending
            } else {
                state.pendingEvents.append(pending)
            }
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        if isIdle { queue.async { self.deliver() } }
    }

    /// Delivers events until there are none.
    private func deliver() {
        while true {
            let pendingEvents = state.withLock { state in
                defer { state.pendingEvents = [] }
                if state.pendingEvents.isEmpty { state.isDelivering = false }
                return state.pendingEvents
            }
            if pendingEvents.isEmpty { return }
            for pending in pendingEvents {
                for subscription in pending.subscriptions { subscription.deliver(pending.event) }
            }
        }
    }

    /// Calls `body` after all earlier events were delivered.
    func whenDelivered(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
