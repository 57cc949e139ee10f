import Dispatch
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

    /// Creates a player without content. `pipelines` makes the pipelines of its sources.
    public init(_ pipelines: PipelineFactory) { self.pipelines = pipelines }

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
