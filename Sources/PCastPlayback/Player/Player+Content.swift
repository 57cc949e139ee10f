/// The content and its order.
extension Player {
    /// The video that is played; nil without content.
    public var video: Video? { read { $0.session?.video } }

    /// The session that plays; nil without content.
    public var session: PlaybackSession? { read { $0.session } }

    /// The videos that are played in order.
    public var videos: [Video] { read { $0.videos } }

    /// The index of the video that is played; nil without content.
    public var index: Int? { read { $0.index } }

    /// Replaces the content with videos and begins at `index`, clamped to the valid indexes. It plays at once if `play`
    /// is true.
    public func set(videos: [Video], index: Int, play: Bool) {
        change { state in
            state.videos = videos
            guard !videos.isEmpty else { return clear(&state) }
            install(min(max(index, 0), videos.count - 1), playing: play, &state)
        }
    }

    /// Advances to the next video. Returns false, without effect, at the last one.
    @discardableResult
    public func advanceToNext() -> Bool {
        change { state in
            guard let index = state.index, index + 1 < state.videos.count else { return false }
            let isPlaying = state.session.map { session in session.withState { $0.isSetToPlay } } ?? false
            install(index + 1, playing: state.autoPlay ?? isPlaying, &state)
            return true
        }
    }

    /// Inserts a video before the one at `index`. Playback continues. Returns false, without effect, if `index` is out
    /// of bounds.
    @discardableResult
    public func insert(_ video: Video, at index: Int) -> Bool {
        change { state in
            guard (0...state.videos.count).contains(index) else { return false }
            state.videos.insert(video, at: index)
            if let current = state.index, index <= current { state.index = current + 1 }
            return true
        }
    }

    /// Leaves the player without content.
    public func reset() {
        change { state in
            state.videos = []
            clear(&state)
        }
    }

    /// Leaves the player without content, if it plays this session.
    func terminate(_ session: PlaybackSession) {
        change { state in
            if state.session === session { clear(&state) }
        }
    }

    /// Restarts loading after a failure. A nil `position` is the last position, or the live edge of a live stream;
    /// otherwise it is in seconds. Returns false, without effect, if playback has not failed or is already resuming.
    @discardableResult
    public func resume(at position: Double? = nil, playing: Bool = true) -> Bool {
        change { state in
            let target = position.map { SeekTarget.position(.init(boundedSeconds: $0)) }
            guard let session = state.session,
                changeSession(&state, { $0.resume(at: target, playing: playing) }) == true
            else { return false }
            build(session, run: session.withState { $0.run })
            return true
        }
    }

    /// Begins a session for the video at an index.
    private func install(_ index: Int, playing: Bool, _ state: inout State) {
        retire(&state)
        let session = PlaybackSession(
            state.videos[index], of: self, firstEpoch: state.nextEpoch, reportedState: state.reportedState)
        (state.session, state.index) = (session, index)
        notify(.videoChanged(session.video), &state)
        _ = changeSession(&state) { [isMuted = state.isMuted] session in
            session.setMuted(isMuted)
            session.reportChanges()
            if playing { session.play() }
        }
        var item: NextItem?
        if let next = state.next, next.source == session.source {
            (item, state.next) = (next, nil)
        } else {
            cancelPreload(&state)
        }
        build(session, run: 0, from: item)
    }

    /// Leaves the player without content.
    private func clear(_ state: inout State) {
        guard state.session != nil else { return }
        retire(&state)
        cancelPreload(&state)
        (state.session, state.index) = (nil, nil)
        notify(.videoChanged(nil), &state)
        guard state.reportedState != .idle else { return }
        state.reportedState = .idle
        notify(.stateChanged(.idle), &state)
    }

    /// Ends the current session.
    private func retire(_ state: inout State) {
        guard let session = state.session else { return }
        _ = changeSession(&state) { $0.terminate() }
        state.nextEpoch = session.withState { $0.nextEpoch }
        stop(session.withState { $0.pipeline })
        if let external = state.external {
            state.external = nil
            Task { await external.stop(session) }
        }
    }

    /// Handles the end of a video, which has been reported: advances, restarts or stops.
    func itemEnded(_ state: inout State) {
        guard let index = state.index else { return }
        let isLast = index + 1 >= state.videos.count
        if state.autoAdvance, isLast { notify(.playlistCompleted(state.videos), &state) }
        if state.autoAdvance, !isLast {
            install(index + 1, playing: state.autoPlay ?? true, &state)
        } else if state.isLooping {
            let isSame = !state.autoAdvance || state.videos.count == 1
            if isSame, state.session?.overview?.seekableRange != nil {
                _ = changeSession(&state) { $0.play() }
            } else {
                install(isSame ? index : 0, playing: true, &state)
            }
        }
    }
}
