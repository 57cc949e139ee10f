import PCastCore
import PCastIO

/// All who follow a player. Told under the player's lock, so that all are told in the same order.
struct EventAudience: Sendable {
    /// Events that wait for a slow reader at most.
    private static let backlog = 4_096

    private var subscriptions: [EventSubscription] = []
    private var events = StreamReaders<PlayerEvent>(.everything(EventAudience.backlog))
    private var positions = StreamReaders<TimeSpan>(.newest(1))

    /// - Returns: nil for one that is there already.
    mutating func add(_ subscription: EventSubscription) -> EventSubscription? {
        guard !subscriptions.contains(where: { $0.isSame(as: subscription) && !$0.isOver }) else { return nil }
        subscriptions.append(subscription)
        return subscription
    }

    /// - Returns: what is to be let go of when the player's lock is free.
    mutating func remove(_ subscription: EventSubscription) -> [EventSubscription] {
        let removed = subscriptions.filter { $0.isSame(as: subscription) }
        for subscription in removed { subscription.cancel() }
        subscriptions.removeAll(where: \.isOver)
        return removed
    }

    mutating func tell(_ event: PlayerEvent, through outbox: EventOutbox) {
        if subscriptions.contains(where: \.isOver) { subscriptions.removeAll(where: \.isOver) }
        outbox.post(event, to: subscriptions)
        if case .progressed(.at(let position)) = event.kind { positions.yield(position) } else { events.yield(event) }
    }

    mutating func listen() -> AsyncStream<PlayerEvent> { events.add() }

    mutating func listenToPositions() -> AsyncStream<TimeSpan> { positions.add() }

    /// No event comes any more.
    mutating func finish() {
        events.finish()
        positions.finish()
    }
}
