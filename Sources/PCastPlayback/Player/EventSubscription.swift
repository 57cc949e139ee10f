import Synchronization

/// Who is told every event as it is, in turn with observers and consumers.
protocol PlayerEventListener: AnyObject, Sendable {
    func hear(_ event: PlayerEvent)
}

/// Whoever follows a player by calls: an observer or a delegate, which are held weakly, a consumer, or a listener.
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

    init(_ observer: any PlayerObserver) {
        follower = .observer(Observer(value: observer))
        identity = ObjectIdentifier(observer)
    }

    init(_ consumer: any PlaybackSessionConsumer) {
        follower = .consumer(consumer)
        identity = ObjectIdentifier(consumer)
    }

    init(delegate: any PlaybackSessionConsumer) {
        follower = .delegate(Delegate(value: delegate))
        identity = ObjectIdentifier(delegate)
    }

    init(_ listener: any PlayerEventListener) {
        follower = .listener(listener)
        identity = ObjectIdentifier(listener)
    }

    /// The delegate that it was made for, as long as that exists; nil for any other follower.
    var delegate: (any PlaybackSessionConsumer)? {
        guard case .delegate(let delegate) = follower else { return nil }
        return delegate.value
    }

    /// Nobody is told any more, as far as is known: an observer's end shows when it was to be told something.
    var isOver: Bool { isCancelled.load(ordering: .relaxed) }

    /// Whether it is of the same object in the same part. An observer that is not the same is never held here, not even for
    /// as long as it takes to look: its last holder must not be one who has the player's lock.
    func isSame(as other: EventSubscription) -> Bool {
        guard identity == other.identity else { return false }
        switch (follower, other.follower) {
        case (.observer(let observer), .observer): return observer.value != nil
        case (.consumer, .consumer), (.listener, .listener): return true
        case (.delegate(let delegate), .delegate): return delegate.value != nil
        default: return false
        }
    }

    /// Nothing is told from now on, also of what has happened already.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }

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
        case .listener(let listener): listener.hear(event)
        }
    }
}
