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
