public import PCastCore

/// Who follows it.
extension Player {
    public func addObserver(_ observer: any PlayerObserver) {
        let subscription = EventSubscription(observer)
        change { state in _ = state.audience.add(subscription) }
    }

    public func removeObserver(_ observer: any PlayerObserver) {
        _ = change { $0.audience.remove(EventSubscription(observer)) }
    }

    /// All that happens from now on but positions, in order, for as long as it is iterated. Each call makes a stream of its
    /// own; one whose reader falls behind by 4096 events ends.
    public func events() -> AsyncStream<PlayerEvent> { change { $0.audience.listen() } }

    /// The position as it moves: the newest, whenever the reader is ready for another.
    public func positions() -> AsyncStream<TimeSpan> { change { $0.audience.listenToPositions() } }

    /// Holds it, and tells it at once what is so.
    func add(_ consumer: any PlaybackSessionConsumer) { add(EventSubscription(consumer)) }

    /// As a consumer.
    func add(_ listener: any PlayerEventListener) { add(EventSubscription(listener)) }

    private func add(_ subscription: EventSubscription) {
        change { state in
            guard let subscription = state.audience.add(subscription), let session = state.session else { return }
            tell(subscription, session.withState { $0.replayed(of: session.video) }, of: session)
        }
    }

    /// Holds the delegate weakly. It receives the current external playback status, and otherwise only what happens from now on:
    /// nothing is repeated that has occurred.
    ///
    /// - Parameter former: The subscription that it replaces, which receives nothing any more.
    func setDelegate(_ subscription: EventSubscription?, replacing former: EventSubscription?) {
        change { state in
            former?.cancel()
            guard let subscription, state.audience.add(subscription) != nil, let session = state.session else { return }
            let isActive = session.withState { $0.isPlayedElsewhere }
            tell(subscription, [.externalPlaybackChanged(isActive)], of: session)
        }
    }

    func remove(_ consumer: any PlaybackSessionConsumer) {
        _ = change { $0.audience.remove(EventSubscription(consumer)) }
    }

    func remove(_ listener: any PlayerEventListener) {
        _ = change { $0.audience.remove(EventSubscription(listener)) }
    }
}

extension SessionState {
    /// What one is told who comes in the middle.
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
