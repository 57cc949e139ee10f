public import PCast
public import PCastCore
public import PCastIO
import Synchronization

/// Plays a live PCast stream: subscribes, and shows it by a ``PCast/Renderer``, which keeps lip sync and waits as the network
/// needs. What is told of it is said by ``StreamPresentation``.
///
/// A pipeline that was made has to be stopped; it then ends the stream.
public final class StreamPipeline: PlaybackPipeline {
    private struct State {
        var presentation: StreamPresentation
        var stream: MediaStream?
        var renderer: Renderer?
        var subscribing: Task<Void, Never>?
        var lastFrame: VideoFrame?
        var isMuted = false
        var volume = 1.0
        var isStopped = false
    }

    private let name: String
    private let options: RendererOptions
    private let onFrame: @Sendable (VideoFrame) -> Void
    private let onEvent: @Sendable (PipelineEvent) -> Void
    private let state = Mutex(State(presentation: StreamPresentation(at: MonotonicClock.now())))
    private let signal = WakeSignal()
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - name: of the stream, for people.
    ///   - options: how it is rendered; its loudspeaker is the renderer's.
    ///   - onFrame: is called when a picture is due, on the renderer's thread.
    ///   - onEvent: what happens, on a thread of its own.
    ///   - subscribe: gets the stream.
    /// - Throws: when no thread can be had.
    public init(
        named name: String, options: RendererOptions = RendererOptions(),
        onFrame: @escaping @Sendable (VideoFrame) -> Void = { _ in },
        onEvent: @escaping @Sendable (PipelineEvent) -> Void = { _ in },
        subscribe: @escaping @Sendable () async throws(PlaybackError) -> MediaStream
    ) throws(IOError) {
        (self.name, self.options) = (name, options)
        (self.onFrame, self.onEvent) = (onFrame, onEvent)
        let worker = try WorkerThread(name: "tell-stream") { [self] in tell() }
        thread.withLock { $0 = worker }
        let task = Task { [self] in
            do throws(PlaybackError) {
                begin(try await subscribe())
            } catch {
                change { $0.failed(error, at: $1) }
            }
        }
        state.withLock { $0.subscribing = task }
    }

    public func stop() {
        let (stream, renderer, task) = state.withLock { state in
            state.isStopped = true
            return (state.stream, state.renderer, state.subscribing)
        }
        task?.cancel()
        renderer?.stop()
        stream?.stop()
        signal.raise()
        thread.withLock { $0 }?.join()
    }

    // MARK: What is played

    public var playhead: Playhead {
        let now = MonotonicClock.now()
        return state.withLock { $0.presentation.clock.playhead(at: now) }
    }

    public func timecode(at position: TimeSpan) -> WallTime? {
        state.withLock { $0.presentation.clock.timecode(at: position) }
    }

    public func position(of timecode: WallTime) -> TimeSpan? {
        state.withLock { $0.presentation.clock.position(of: timecode) }
    }

    /// What it shows; nil before it was subscribed to.
    var stream: MediaStream? { state.withLock { $0.stream } }

    public var lastFrame: VideoFrame? { state.withLock { $0.lastFrame } }

    /// What comes is shown when it is due.
    public var bufferedPosition: TimeSpan? { nil }

    // MARK: Commands

    public func play() {
        change { presentation, now in
            presentation.play(at: now)
            presentation.resumed(at: now)
        }
        apply()
    }

    /// Sound is silent and the picture stands; what comes meanwhile is not kept.
    public func pause() {
        change { $0.pause(at: $1) }
        apply()
    }

    /// Of no effect: a live stream is as fast as it comes.
    public func setRate(_ rate: Double) {}

    @discardableResult
    public func seek(to position: TimeSpan) -> PlayheadEpoch { change { presentation, _ in presentation.seek() } }

    @discardableResult
    public func seek(to wallTime: WallTime) -> PlayheadEpoch? { nil }

    /// Lets a track through, or holds it back.
    public func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {
        guard let stream = state.withLock({ $0.stream }) else { return }
        for each in stream.tracks where each.mediaType.kind == kind { each.setEnabled(track != nil) }
    }

    public var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set {
            state.withLock { $0.isMuted = newValue }
            apply()
        }
    }

    public var volume: Double {
        get { state.withLock { $0.volume } }
        set {
            state.withLock { $0.volume = min(max(newValue, 0), 1) }
            apply()
        }
    }

    // MARK: The stream

    private func begin(_ stream: MediaStream) {
        let isStopped = state.withLock { state in
            state.stream = stream
            return state.isStopped
        }
        guard !isStopped else { return stream.stop() }
        let tracks = stream.tracks.map { track in
            ContentTrack(id: .init(rawValue: track.mediaType.rawValue), kind: track.mediaType.kind)
        }
        change { presentation, _ in presentation.opened(tracks) }
        stream.setStreamEndedCallback { [weak self, name] _, reason, description in
            self?.change { presentation, now in
                let info = StreamEndedInfo(ender: .platform, reason: reason, reasonDescription: description)
                presentation.ended(info, name: name, at: now)
            }
        }
        let status = start(stream, options)
        if status == .ok {
            // What has no pictures has landed when it is heard, and goes on with time.
            if stream.videoTracks.isEmpty {
                change {
                    $0.presented(
                        MediaTime(ticks: 0, rate: .opus), captured: nil, at: $1, wallTime: MonotonicClock.wallTime())
                }
            }
        } else if stream.endedInfo == nil {
            change { [name] in $0.failed(.notPlayable(name, reason: "the renderer does not start: \(status)"), at: $1) }
        }
    }

    private func start(_ stream: MediaStream, _ options: RendererOptions) -> RendererStartStatus {
        let renderer = stream.createRenderer(options)
        let isStopped = state.withLock { state in
            state.renderer = renderer
            return state.isStopped
        }
        guard !isStopped else { return .conflict }
        apply()
        let status = renderer.start(on: StreamSurface { [weak self] in self?.show($0) })
        // Whoever has stopped it meanwhile may not have seen it.
        if state.withLock({ $0.isStopped }) { renderer.stop() }
        return status
    }

    private func show(_ frame: VideoFrame) {
        let isShown = state.withLock { state in
            guard state.presentation.shows() else { return false }
            state.lastFrame = frame
            return true
        }
        guard isShown else { return }
        onFrame(frame)
        change {
            $0.presented(
                frame.timestamp, captured: frame.captureTime, size: frame.dimensions, at: $1,
                wallTime: MonotonicClock.wallTime())
        }
    }

    /// Brings the renderer to what was asked for.
    private func apply() {
        let (renderer, isSilent, volume) = state.withLock { state in
            (state.renderer, state.isMuted || !state.presentation.clock.isPlaying, state.volume)
        }
        guard let renderer else { return }
        if isSilent { renderer.muteAudio() } else { renderer.unmuteAudio() }
        renderer.volume = volume
    }

    // MARK: Telling

    @discardableResult
    private func change<Result: Sendable>(_ body: (inout StreamPresentation, Instant) -> Result) -> Result {
        let result = state.withLock { body(&$0.presentation, MonotonicClock.now()) }
        signal.raise()
        return result
    }

    private func tell() {
        while true {
            let (event, deadline, isStopped) = state.withLock { state in
                state.presentation.advance(to: MonotonicClock.now())
                return (state.presentation.poll(), state.presentation.deadline, state.isStopped)
            }
            if isStopped { return }
            if let event { onEvent(event) } else { signal.wait(until: deadline) }
        }
    }
}

extension MediaType {
    fileprivate var kind: ContentTrack.Kind {
        switch self {
        case .video: .video
        case .audio: .audio
        }
    }
}
