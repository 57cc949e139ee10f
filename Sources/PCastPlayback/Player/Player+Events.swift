import Dispatch
import PCastCore
import Synchronization

/// The observers of a player.
extension Player {
    /// Adds an observer, which is held weakly. It has no effect on an observer that was added before.
    public func addObserver(_ observer: any PlayerObserver) {
        let subscription = EventSubscription(observer)
        change { state in _ = state.observers.add(subscription) }
    }

    /// Removes an observer. It receives no more calls.
    public func removeObserver(_ observer: any PlayerObserver) {
        _ = change { $0.observers.remove(EventSubscription(observer)) }
    }

    /// Returns a stream of all events from now on except positions, in order. A stream ends if its reader falls 4096
    /// events behind.
    public func events() -> AsyncStream<PlayerEvent> { change { $0.observers.listen() } }

    /// Returns a stream of positions. A slow reader receives only the newest.
    public func positions() -> AsyncStream<Duration> { change { $0.observers.listenToPositions() } }

    /// Adds a consumer, which is held strongly and receives the current values at once.
    func add(_ consumer: any PlaybackSessionConsumer) { add(EventSubscription(consumer)) }

    /// Adds a listener in the same way as a consumer.
    func add(_ listener: any PlayerEventListener) { add(EventSubscription(listener)) }

    /// Adds a subscription and reports the current values to it.
    private func add(_ subscription: EventSubscription) {
        change { state in
            guard let subscription = state.observers.add(subscription), let session = state.session else { return }
            notify(subscription, session.withState { $0.replayed(of: session.video) }, of: session)
        }
    }

    /// Adds the subscription of a delegate, which replaces `former`. It receives the current external playback status,
    /// and otherwise only later events.
    func setDelegate(_ subscription: EventSubscription?, replacing former: EventSubscription?) {
        change { state in
            former?.cancel()
            guard let subscription, state.observers.add(subscription) != nil, let session = state.session else {
                return
            }
            let isActive = session.withState { $0.isPlayedElsewhere }
            notify(subscription, [.externalPlaybackChanged(isActive)], of: session)
        }
    }

    /// Removes a consumer. It receives no more calls.
    func remove(_ consumer: any PlaybackSessionConsumer) {
        _ = change { $0.observers.remove(EventSubscription(consumer)) }
    }

    /// Removes a listener. It receives no more calls.
    func remove(_ listener: any PlayerEventListener) {
        _ = change { $0.observers.remove(EventSubscription(listener)) }
    }
}

extension SessionState {
    /// Returns the events that report the current values to a new observer.
    fileprivate func replayed(of video: Video) -> [PlayerEvent.Kind] {
        var kinds: [PlayerEvent.Kind] = [.videoChanged(video)]
        if mediaType != .undetermined { kinds.append(.mediaTypeDetermined(mediaType)) }
        if let overview {
            if overview.duration != nil || overview.kind == .live {
                kinds.append(.durationChanged(overview.duration?.duration))
            }
            kinds.append(.seekableRangesChanged(seekableRanges))
        }
        return kinds + [.externalPlaybackChanged(isPlayedElsewhere)]
    }
}

/// Preloading of the next item, so that playback continues without a pause.
extension Player {
    /// The remaining time of the current item at which the next one is preloaded. The current item is then completely
    /// loaded, because it is loaded at least as far ahead.
    private static let lead = TimeSpan.seconds(10)

    /// Begins or cancels preloading, according to the current state.
    func lookAhead(_ state: inout State) {
        let wanted = nextSource(state)
        guard wanted != state.next?.source else { return }
        cancelPreload(&state)
        guard let wanted else { return }
        let item = NextItem(wanted)
        state.next = item
        engine.async { [pipelines] in item.begin(pipelines) }
    }

    /// Returns the source that plays next without a command, if that is soon; nil otherwise.
    private func nextSource(_ state: State) -> Source? {
        guard state.autoAdvance, let index = state.index, let session = state.session, session.isNearEnd(Self.lead)
        else { return nil }
        if index + 1 < state.videos.count { return state.videos[index + 1].preferredSource }
        return state.isLooping && state.videos.count > 1 ? state.videos[0].preferredSource : nil
    }

    /// Cancels preloading.
    func cancelPreload(_ state: inout State) {
        guard let next = state.next else { return }
        state.next = nil
        engine.async { next.cancel() }
    }
}

extension PlaybackSession {
    /// Whether the remaining time is at most `lead`. It is false for live content.
    fileprivate func isNearEnd(_ lead: TimeSpan) -> Bool {
        withState { state in
            guard state.lifecycle.isReady, let end = state.overview?.end else { return false }
            return state.position + lead >= end
        }
    }
}

/// The next item while it is preloaded. All but `source` is used only on the player's engine.
final class NextItem: Sendable {
    /// The source of the item.
    let source: Source
    private let preload = Mutex<(any PipelinePreload)?>(nil)

    /// Creates an item that is not preloaded yet.
    init(_ source: Source) { self.source = source }

    /// Begins to preload.
    func begin(_ pipelines: PipelineFactory) {
        let new = pipelines.preload(source)
        preload.withLock { $0 = new }
    }

    /// Returns the preload, once; nil if there is none.
    func take() -> (any PipelinePreload)? { preload.withLock { $0.take() } }

    /// Cancels the preload.
    func cancel() { take()?.cancel() }
}
