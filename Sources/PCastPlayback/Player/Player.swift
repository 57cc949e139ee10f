import Dispatch
import PCastCore
import PCastOverlay
import PCastRendering
import Synchronization

/// A player of videos, one after another (VideoKit's `PlayerProtocol`). Each video is played by its own
/// ``PlaybackSession``, and each session by a ``PlaybackPipeline``, which is the only source of its position.
///
///     let player = Player(pipelines)
///     player.addObserver(observer)
///     player.set(video: Video("https://origin.example/main.m3u8"), play: true)
///
/// All methods may be called from any thread and from observers.
public final class Player: PlayerProtocol {
    struct State: Sendable {
        var videos: [Video] = []
        /// The index of the session's video; nil without content.
        var index: Int?
        var session: PlaybackSession?
        /// The last state that was reported.
        var reportedState = PlayerState.idle
        /// The first epoch of the next session.
        var nextEpoch = 0
        var isMuted = false
        var volume = 1.0
        var speed = 1.0
        var isLooping = false
        var aspectMode = AspectMode.automatic
        var videoScale = VideoScale.full
        var autoAdvance = true
        /// Whether a video that the player advances to plays; nil to keep the state of the video before.
        var autoPlay: Bool?
        var allowsExternalPlayback = true
        var external: (any ExternalPlayback)?
        /// The next item while it is preloaded; nil for none.
        var next: NextItem?
        var observers = PlayerObservers()
        /// The delegate of timelines.
        var eventDelegate: WeakEventDelegate?
    }

    let pipelines: PipelineFactory
    private let storage = Mutex(State())
    private let outbox = EventDispatcher()
    /// The queue on which pipelines are made and stopped, which may block, and on which their events are handled.
    let engine = DispatchQueue(label: "pcast.player")

    /// Creates a player without content. `pipelines` makes the pipelines of its sources. The aspect mode is that of
    /// their surface.
    public init(_ pipelines: PipelineFactory) {
        self.pipelines = pipelines
        guard let mode = pipelines.aspectMode else { return }
        storage.withLock { $0.aspectMode = mode }
    }

    deinit {
        let state = storage.withLock { state in
            state.observers.finish()
            return state
        }
        if let next = state.next { engine.async { next.cancel() } }
        guard let session = state.session else { return }
        session.withState { $0.terminate() }
        stop(session.withState { $0.pipeline })
        if let external = state.external { Task { await external.stop(session) } }
    }

    // MARK: State

    /// Calls `body` with the state while it is locked.
    func read<Value: Sendable>(_ body: (State) -> Value) -> Value { storage.withLock { body($0) } }

    /// Changes the state while it is locked, and reports the session's events in that order.
    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        storage.withLock { state in
            defer { reportSessionEvents(&state) }
            return body(&state)
        }
    }

    /// Changes the session and reports its events. Returns nil without content.
    func changeSession<Value: Sendable>(
        _ state: inout State, _ body: (inout SessionState) -> Value
    ) -> Value? {
        guard let session = state.session else { return nil }
        defer { reportSessionEvents(&state) }
        return session.withState { body(&$0) }
    }

    /// Reports the events of the session.
    private func reportSessionEvents(_ state: inout State) {
        guard let session = state.session else { return }
        let (events, reportedState) = session.withState { ($0.takePendingEvents(), $0.reportedState) }
        state.reportedState = reportedState
        for kind in events { notify(kind, &state) }
    }

    /// Reports an event to all observers.
    func notify(_ kind: PlayerEvent.Kind, _ state: inout State) {
        let epoch =
            state.session.map { session in session.withState { $0.numbered($0.epoch) } }
            ?? PlayheadEpoch(number: state.nextEpoch)
        state.observers.notify(PlayerEvent(kind, session: state.session, epoch: epoch), through: outbox)
    }

    /// Reports current values to a new observer.
    func notify(_ subscription: EventSubscription, _ kinds: [PlayerEvent.Kind], of session: PlaybackSession) {
        let epoch = session.withState { $0.numbered($0.epoch) }
        for kind in kinds { outbox.post(PlayerEvent(kind, session: session, epoch: epoch), to: [subscription]) }
    }

    // MARK: Pipelines

    /// Stops a pipeline. The next one is made after that.
    func stop(_ pipeline: (any PlaybackPipeline)?) {
        if let pipeline { engine.async { pipeline.stop() } }
    }

    /// Makes the pipeline of a session's run, from a preloaded item if there is one, unless the run is over by then.
    func build(_ session: PlaybackSession, run: Int, from item: NextItem? = nil) {
        engine.async { [weak self] in
            self?.make(session, run: run, from: item)
            // An item that was not used is released.
            item?.cancel()
        }
    }

    /// Makes the pipeline and attaches it to the session.
    private func make(_ session: PlaybackSession, run: Int, from item: NextItem?) {
        guard isWanted(session, run: run) else { return }
        guard let source = session.source else {
            let error = PlaybackError.notPlayable("the video", reason: "it has no source")
            return fail(session, run: run, error, noPlayableSource: true)
        }
        let handler: PipelineFactory.Handler = { [weak self, weak session] event in
            guard let self, let session else { return }
            engine.async { [weak self] in self?.handle(event, of: session, run: run) }
        }
        let pipeline: any PlaybackPipeline
        do throws(PlaybackError) {
            if let preload = item?.take() {
                pipeline = try preload.makePipeline(handler)
            } else {
                pipeline = try pipelines.makePipeline(source, handler)
            }
        } catch {
            return fail(session, run: run, error)
        }
        let isAttached = change { state in
            guard Self.isWanted(session, run: run, state) else { return false }
            session.withState { $0.attach(pipeline, volume: state.volume, speed: state.speed) }
            return true
        }
        if !isAttached { pipeline.stop() }
    }

    /// Whether the player still plays this run of the session.
    private func isWanted(_ session: PlaybackSession, run: Int) -> Bool {
        read { Self.isWanted(session, run: run, $0) }
    }

    /// Whether the player still plays this run of the session.
    private static func isWanted(_ session: PlaybackSession, run: Int, _ state: State) -> Bool {
        state.session === session && session.withState { $0.run == run && $0.lifecycle.isAlive }
    }

    /// Handles an event of the pipeline of a run.
    private func handle(_ event: PipelineEvent, of session: PlaybackSession, run: Int) {
        change { state in
            guard Self.isWanted(session, run: run, state) else { return }
            switch changeSession(&state, { $0.handle(event) }) {
            case .ended: itemEnded(&state)
            case .failed: stop(session.withState { $0.pipeline })
            case .continuesHere, nil: break
            }
            lookAhead(&state)
        }
    }

    /// Handles a failure to make the pipeline of a run.
    private func fail(
        _ session: PlaybackSession, run: Int, _ error: PlaybackError, noPlayableSource: Bool = false
    ) {
        change { state in
            guard Self.isWanted(session, run: run, state) else { return }
            _ = changeSession(&state) { $0.fail(error, noPlayableSource: noPlayableSource) }
        }
    }

    /// Waits until all current events and their consequences were reported, and released pipelines have stopped.
    public func settled() async {
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                engine.async { [outbox] in outbox.whenDelivered { continuation.resume() } }
            }
        }
    }
}

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

    /// Restarts loading after a failure. A nil `position` is the last position, or the live edge of a live stream.
    /// Returns false, without effect, if playback has not failed or is already resuming.
    @discardableResult
    public func resume(at position: Duration? = nil, playing: Bool = true) -> Bool {
        change { state in
            let target = position.map { SeekTarget.position(TimeSpan($0)) }
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

/// External playback.
extension Player {
    /// Whether external playback may start. Current external playback continues after a change to false.
    public var allowsExternalPlayback: Bool {
        get { read { $0.allowsExternalPlayback } }
        set { change { $0.allowsExternalPlayback = newValue } }
    }

    /// Whether another device plays the content.
    public var isExternalPlaybackActive: Bool { session?.isExternalPlaybackActive ?? false }

    /// Starts external playback of the current session. Local playback is silent until it is stopped or the session is
    /// over. Throws the error of `external`; `CancellationError` if the session ends before the start is complete; or
    /// ``PlaybackError/notPlayable(_:reason:)`` without content, while it is not allowed, or while it is active
    /// already.
    public func startExternalPlayback(_ external: any ExternalPlayback) async throws {
        let session = read { state in
            state.allowsExternalPlayback && state.external == nil ? state.session : nil
        }
        guard let session, session.playerState.hasContent else {
            throw PlaybackError.notPlayable("external playback", reason: "nothing is playing on this device")
        }
        try await external.start(session)
        let hasBegun = change { state in
            guard state.session === session, state.external == nil else { return false }
            state.external = external
            _ = changeSession(&state) { $0.setPlayedElsewhere(true) }
            return true
        }
        guard hasBegun else {
            await external.stop(session)
            throw CancellationError()
        }
        if external.hasEnded { await stopExternalPlayback(by: external) }
    }

    /// Stops external playback. It has no effect if there is none.
    public func stopExternalPlayback() async { await stopExternalPlayback(by: nil) }

    /// Stops external playback by `ended` only, or by any if it is nil.
    func stopExternalPlayback(by ended: (any ExternalPlayback)?) async {
        let (external, session) = change { state in
            let external = ended == nil || state.external === ended ? state.external : nil
            guard external != nil else { return (external, state.session) }
            state.external = nil
            _ = changeSession(&state) { $0.setPlayedElsewhere(false) }
            return (external, state.session)
        }
        if let external, let session { await external.stop(session) }
    }
}
