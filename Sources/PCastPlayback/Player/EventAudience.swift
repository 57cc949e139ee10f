import PCastMedia

/// All who follow a player. Told under the player's lock, so that all are told in the same order.
struct EventAudience: Sendable {
    /// Events that wait for a slow reader at most.
    private static let backlog = 4_096

    private var subscriptions: [EventSubscription] = []
    private var streams: [Int: AsyncStream<PlayerEvent>.Continuation] = [:]
    private var positions: [Int: AsyncStream<TimeSpan>.Continuation] = [:]
    private var lastID = 0

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
        if case .progressed(.at(let position)) = event.kind {
            for stream in positions.values { stream.yield(position) }
            return
        }
        for (id, stream) in streams {
            // A gap could not be told from nothing having happened: who falls behind so far is told no more.
            if case .dropped = stream.yield(event) {
                stream.onTermination = nil
                stream.finish()
                streams[id] = nil
            }
        }
    }

    mutating func listen(ended: @escaping @Sendable (Int) -> Void) -> AsyncStream<PlayerEvent> {
        lastID += 1
        let (stream, continuation) = AsyncStream.makeStream(
            of: PlayerEvent.self, bufferingPolicy: .bufferingOldest(Self.backlog))
        streams[lastID] = continuation
        continuation.onTermination = { [lastID] _ in ended(lastID) }
        return stream
    }

    mutating func listenToPositions(ended: @escaping @Sendable (Int) -> Void) -> AsyncStream<TimeSpan> {
        lastID += 1
        let (stream, continuation) = AsyncStream.makeStream(of: TimeSpan.self, bufferingPolicy: .bufferingNewest(1))
        positions[lastID] = continuation
        continuation.onTermination = { [lastID] _ in ended(lastID) }
        return stream
    }

    mutating func forget(_ id: Int) {
        streams[id] = nil
        positions[id] = nil
    }

    /// No event comes any more.
    func finish() {
        for stream in streams.values { stream.finish() }
        for stream in positions.values { stream.finish() }
    }
}
