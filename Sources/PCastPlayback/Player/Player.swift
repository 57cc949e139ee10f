import Dispatch
import PCastOverlay
import PCastRendering
import Synchronization

/// Plays videos, one after another (seed 001). The handle that stays: each video is played by a ``PlaybackSession`` of its
/// own, each session by a ``PlaybackPipeline``, which alone knows where playback is; everything here is a view of that.
///
///     let player = Player(pipelines)
///     player.addObserver(observer)
///     player.set(video: Video("https://origin.example/main.m3u8"), play: true)
///
/// May be called from any thread, and from observers.
public final class Player: PlayerProtocol {
    struct State: Sendable {
        var videos: [Video] = []
        /// Of the session's video; nil without content.
        var index: Int?
        var session: PlaybackSession?
        /// The last that was told.
        var toldState = PlayerState.idle
        /// Where the next session's epochs begin.
        var nextEpoch = 0
        var isMuted = false
        var volume = 1.0
        var speed = 1.0
        var isLooping = false
        var aspectMode = AspectMode.automatic
        var videoScale = VideoScale.full
        var autoAdvance = true
        /// Whether a video that is advanced to plays; nil for as the one before it did.
        var autoPlay: Bool?
        var allowsExternalPlayback = true
        var external: (any ExternalPlayback)?
        /// What is loaded ahead.
        var next: NextItem?
        var audience = EventAudience()
        /// Who is told by timelines.
        var eventDelegate: WeakEventDelegate?
    }

    let pipelines: PipelineFactory
    private let storage = Mutex(State())
    private let outbox = EventOutbox()
    /// Here pipelines' events are heard, and pipelines made and stopped, which takes a while: one after another.
    let engine = DispatchQueue(label: "pcast.player")

    public init(_ pipelines: PipelineFactory) { self.pipelines = pipelines }

    deinit {
        let state = storage.withLock { state in
            state.audience.finish()
            return state
        }
        if let next = state.next { engine.async { next.cancel() } }
        guard let session = state.session else { return }
        session.withState { $0.terminate() }
        stop(session.withState { $0.pipeline })
        if let external = state.external { Task { await external.stop(session) } }
    }

    // MARK: One order of events

    func read<Value: Sendable>(_ body: (State) -> Value) -> Value { storage.withLock { body($0) } }

    /// Everything that changes does so here, and is told in that order.
    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        storage.withLock { state in
            defer { tellSession(&state) }
            return body(&state)
        }
    }

    /// Changes the session, if there is one.
    func changeSession<Value: Sendable>(
        _ state: inout State, _ body: (inout SessionState) -> Value
    ) -> Value? {
        guard let session = state.session else { return nil }
        defer { tellSession(&state) }
        return session.withState { body(&$0) }
    }

    private func tellSession(_ state: inout State) {
        guard let session = state.session else { return }
        let (told, toldState) = session.withState { ($0.takeTold(), $0.toldState) }
        state.toldState = toldState
        for kind in told { tell(kind, &state) }
    }

    func tell(_ kind: PlayerEvent.Kind, _ state: inout State) {
        let epoch =
            state.session.map { session in session.withState { $0.numbered($0.epoch) } }
            ?? PlayheadEpoch(number: state.nextEpoch)
        state.audience.tell(PlayerEvent(kind, session: state.session, epoch: epoch), through: outbox)
    }

    /// Tells one who has just come what is so.
    func tell(_ subscription: EventSubscription, _ kinds: [PlayerEvent.Kind], of session: PlaybackSession) {
        let epoch = session.withState { $0.numbered($0.epoch) }
        for kind in kinds { outbox.post(PlayerEvent(kind, session: session, epoch: epoch), to: [subscription]) }
    }

    // MARK: Pipelines

    /// Lets a pipeline end; the next is made when it has.
    func stop(_ pipeline: (any PlaybackPipeline)?) {
        if let pipeline { engine.async { pipeline.stop() } }
    }

    /// Makes the pipeline of a session's run, if it is still wanted then.
    ///
    /// - Parameter item: what was loaded of it before.
    func build(_ session: PlaybackSession, run: Int, from item: NextItem? = nil) {
        engine.async { [weak self] in
            self?.make(session, run: run, from: item)
            // Where nobody has taken it.
            item?.cancel()
        }
    }

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

    private func isWanted(_ session: PlaybackSession, run: Int) -> Bool {
        read { Self.isWanted(session, run: run, $0) }
    }

    private static func isWanted(_ session: PlaybackSession, run: Int, _ state: State) -> Bool {
        state.session === session && session.withState { $0.run == run && $0.lifecycle.isAlive }
    }

    private func handle(_ event: PipelineEvent, of session: PlaybackSession, run: Int) {
        change { state in
            guard Self.isWanted(session, run: run, state) else { return }
            switch changeSession(&state, { $0.handle(event) }) {
            case .ended: itemEnded(&state)
            case .failed: stop(session.withState { $0.pipeline })
            case .goesOn, nil: break
            }
            lookAhead(&state)
        }
    }

    private func fail(
        _ session: PlaybackSession, run: Int, _ error: PlaybackError, noPlayableSource: Bool = false
    ) {
        change { state in
            guard Self.isWanted(session, run: run, state) else { return }
            _ = changeSession(&state) { $0.fail(error, noPlayableSource: noPlayableSource) }
        }
    }

    /// Returns when all that has happened, and what came of it, has been told, and pipelines that were let go of have ended.
    public func settled() async {
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                engine.async { [outbox] in outbox.whenDelivered { continuation.resume() } }
            }
        }
    }
}
