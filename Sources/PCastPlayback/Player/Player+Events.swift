public import PCastCore

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
    public func positions() -> AsyncStream<TimeSpan> { change { $0.observers.listenToPositions() } }

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
            if overview.duration != nil || overview.kind == .live { kinds.append(.durationChanged(overview.duration)) }
            kinds.append(.seekableRangesChanged(seekableRanges))
        }
        return kinds + [.externalPlaybackChanged(isPlayedElsewhere)]
    }
}
