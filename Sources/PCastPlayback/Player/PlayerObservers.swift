import PCastCore
import PCastIO

/// All observers of a player. It is used under the player's lock, so all observers receive events in the same order.
struct PlayerObservers: Sendable {
    /// The maximum number of events that wait for a slow reader.
    private static let backlog = 4_096

    private var subscriptions: [EventSubscription] = []
    private var events = StreamReaders<PlayerEvent>(.everything(PlayerObservers.backlog))
    private var positions = StreamReaders<TimeSpan>(.newest(1))

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
    mutating func listenToPositions() -> AsyncStream<TimeSpan> { positions.add() }

    /// Ends all streams.
    mutating func finish() {
        events.finish()
        positions.finish()
    }
}
