package import PCast
package import PCastCore
package import PCastIO
import PCastRendering
import Synchronization

/// The playback of a live PCast stream. It subscribes, and displays the stream with a ``PCast/Renderer``, which handles
/// lip sync, the jitter buffer and the time shift. ``StreamPresentation`` determines the events.
///
/// A seek leads into the window of a stream that has one, and a seek to its end to real time.
///
/// A pipeline must be stopped before its release, which also ends the subscription.
package final class StreamPipeline: PlaybackPipeline {
    private struct State {
        var presentation: StreamPresentation
        var stream: MediaStream?
        var renderer: Renderer?
        var subscribing: Task<Void, Never>?
        /// Show the captions of a stream without video or by HLS, and follow the time shift.
        var following: [Task<Void, Never>] = []
        var lastFrame: VideoFrame?
        var isMuted = false
        var volume = 1.0
        var isStopped = false
    }

    private let name: String
    private let options: RendererOptions
    private let onFrame: @Sendable (VideoFrame) -> Void
    private let onAudio: (@Sendable (AudioFrame, Instant) -> Void)?
    private let onEvent: @Sendable (PipelineEvent) -> Void
    private let state = Mutex(State(presentation: StreamPresentation(at: MonotonicClock.now())))
    private let signal = WakeSignal()
    private let thread = Mutex<WorkerThread?>(nil)

    /// Creates a pipeline, which subscribes at once. `name` is the name of the stream for people. `options` configures
    /// the renderer and its audio output. `onFrame` is called on the renderer's thread when a frame is due,
    /// `onAudio` with audio ahead of its presentation time, and `onEvent` on the pipeline's thread. `subscribe` subscribes to the stream. Throws an ``IOError`` if a thread
    /// cannot be created.
    package init(
        named name: String, options: RendererOptions = RendererOptions(),
        onFrame: @escaping @Sendable (VideoFrame) -> Void = { _ in },
        onAudio: (@Sendable (AudioFrame, Instant) -> Void)? = nil,
        onEvent: @escaping @Sendable (PipelineEvent) -> Void = { _ in },
        subscribe: @escaping @Sendable () async throws(PlaybackError) -> MediaStream
    ) throws(IOError) {
        (self.name, self.options) = (name, options)
        (self.onFrame, self.onAudio, self.onEvent) = (onFrame, onAudio, onEvent)
        let worker = try WorkerThread(name: "tell-stream") { [self] in notify() }
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

    /// Stops playback, ends the subscription, and waits for the pipeline's thread.
    package func stop() {
        let (stream, renderer, tasks) = state.withLock { state in
            state.isStopped = true
            return (state.stream, state.renderer, state.following + [state.subscribing].compactMap { $0 })
        }
        for task in tasks { task.cancel() }
        renderer?.stop()
        stream?.stop()
        signal.raise()
        thread.withLock { $0 }?.join()
    }

    // MARK: Properties

    /// A snapshot of playback now.
    package var playhead: Playhead {
        let now = MonotonicClock.now()
        return state.withLock { $0.presentation.clock.playhead(at: now) }
    }

    /// Returns the wall-clock time of a position; nil if unknown.
    package func timecode(at position: TimeSpan) -> WallTime? {
        state.withLock { $0.presentation.clock.timecode(at: position) }
    }

    /// Returns the position of a wall-clock time; nil if unknown.
    package func position(of timecode: WallTime) -> TimeSpan? {
        state.withLock { $0.presentation.clock.position(of: timecode) }
    }

    /// The stream; nil before the subscription is complete.
    var stream: MediaStream? { state.withLock { $0.stream } }

    /// The last displayed frame; nil before the first.
    package var lastFrame: VideoFrame? { state.withLock { $0.lastFrame } }

    /// Nil: a live stream is displayed as it arrives.
    package var bufferedPosition: TimeSpan? { nil }

    // MARK: Commands

    /// Plays.
    package func play() {
        change { presentation, now in
            presentation.play(at: now)
            presentation.resumed(at: now)
        }
        timeShift?.play()
        apply()
    }

    /// Pauses: mutes the audio and keeps the frame. In real time, media that arrives meanwhile is discarded.
    package func pause() {
        change { $0.pause(at: $1) }
        timeShift?.pause()
        apply()
    }

    /// The renderer's time shift; nil before the renderer exists.
    private var timeShift: TimeShift? { state.withLock { $0.renderer }?.timeShift }

    /// Does nothing, because a live stream has only its own rate.
    package func setRate(_ rate: Double) {}

    /// Seeks to a position in the window, or to real time at its end, and returns the epoch of the seek. If the stream is
    /// not seekable, its current position is reported as the result.
    @discardableResult
    package func seek(to position: TimeSpan) -> PlayheadEpoch {
        updateWindow()
        let (epoch, destination) = change { presentation, now in
            (presentation.seek(to: position, at: now), presentation.awaitedSeek)
        }
        guard let destination, let renderer = state.withLock({ $0.renderer }) else { return epoch }
        do throws(PCastError) {
            switch destination {
            case .frame: break
            case .live: renderer.timeShift.stop()
            case .time(let time):
                try renderer.seek(to: time)
                let isPlaying = state.withLock { $0.presentation.clock.isPlaying }
                if isPlaying { renderer.timeShift.play() } else { renderer.timeShift.pause() }
            }
        } catch {
            change { presentation, _ in presentation.returned() }
        }
        return epoch
    }

    /// Seeks to the frame of a wall-clock time and returns the epoch of the seek; nil, without effect, if the stream is
    /// not seekable.
    @discardableResult
    package func seek(to wallTime: WallTime) -> PlayheadEpoch? {
        guard playhead.seekableRange != nil, let position = position(of: wallTime) else { return nil }
        return seek(to: position)
    }

    /// Updates the window from that of the renderer.
    private func updateWindow() {
        guard let window = timeShift?.seekableRange else { return }
        change { $0.set(window: window, at: $1) }
    }

    /// Enables or disables the tracks of a kind. Captions are the track of the kind `subtitles`.
    package func select(_ track: ContentTrack.ID?, of kind: ContentTrack.Kind) {
        guard kind != .subtitles else {
            return change { presentation, _ in presentation.select(captions: track != nil) }
        }
        guard let stream = state.withLock({ $0.stream }) else { return }
        for each in stream.tracks where each.mediaType.kind == kind { each.setEnabled(track != nil) }
    }

    /// Whether the audio is muted.
    package var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set {
            state.withLock { $0.isMuted = newValue }
            apply()
        }
    }

    /// The volume, clamped to 0 to 1.
    package var volume: Double {
        get { state.withLock { $0.volume } }
        set {
            state.withLock { $0.volume = min(max(newValue, 0), 1) }
            apply()
        }
    }

    // MARK: Stream

    /// Begins to display the subscribed stream.
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
        stream.whenEnded { [weak self, name] ended in
            Task { [weak self] in
                // The last frames are displayed before the end.
                await self?.state.withLock { $0.renderer }?.stopped
                self?.change { presentation, now in
                    let info = StreamEndedInfo(
                        ender: .platform, reason: ended.reason, reasonDescription: ended.reasonDescription)
                    presentation.ended(info, name: name, at: now)
                }
            }
        }
        do throws(PCastError) {
            guard try start(stream, options), stream.videoTracks.isEmpty else { return }
            // A stream without video starts with its audio, and its position advances with time.
            change {
                $0.presented(
                    MediaTime(ticks: 0, rate: .opus), captured: nil, at: $1, wallTime: MonotonicClock.wallTime())
            }
        } catch {
            guard stream.endedInfo == nil else { return }
            change { [name] in $0.failed(.notPlayable(name, reason: error.description), at: $1) }
        }
    }

    /// Starts the renderer. Returns false if the pipeline was stopped before. Throws the error of the renderer.
    private func start(_ stream: MediaStream, _ options: RendererOptions) throws(PCastError) -> Bool {
        let renderer = stream.createRenderer(options)
        if let onAudio { renderer.setAudioTap(onAudio) }
        let isStopped = state.withLock { state in
            state.renderer = renderer
            return state.isStopped
        }
        guard !isStopped else { return false }
        apply()
        try renderer.start(on: StreamSurface { [weak self] in self?.show($0) })
        if stream.videoTracks.isEmpty || stream.isPlaylist || renderer.isSeekable { followCaptions(of: renderer) }
        if renderer.isSeekable { follow(renderer.timeShift) }
        // `stop()` may have run before the renderer was stored.
        if state.withLock({ $0.isStopped }) { renderer.stop() }
        return true
    }

    /// Shows the captions of a stream without video or by HLS, until the pipeline is stopped.
    private func followCaptions(of renderer: Renderer) {
        let captions = renderer.caption.values
        let task = Task { [weak self] in
            for await caption in captions {
                guard let self else { return }
                guard followsCaptions else { continue }
                change { presentation, _ in if presentation.shows() { presentation.show(caption: caption) } }
            }
        }
        state.withLock { $0.following.append(task) }
    }

    /// Whether the captions are those of the renderer, because the stream or its window is played by HLS, or because
    /// there are no frames.
    private var followsCaptions: Bool {
        let (stream, renderer) = state.withLock { ($0.stream, $0.renderer) }
        guard let stream else { return false }
        return stream.isPlaylist || stream.videoTracks.isEmpty || renderer?.timeShift.isDisplayed == true
    }

    /// Displays the frames of seeks, until the pipeline is stopped.
    private func follow(_ timeShift: TimeShift) {
        let states = timeShift.state.values
        let task = Task { [weak self, timeShift] in
            for await state in states {
                guard let self else { return }
                switch state {
                case .playing, .paused:
                    change { presentation, _ in presentation.reached(timeShift.startTime) }
                    // The frame may be on the renderer's surface already.
                    if let frame = self.state.withLock({ $0.renderer })?.lastVideoFrameRendered { show(frame) }
                case .failed: change { presentation, _ in presentation.returned() }
                case .live, .seeking, .ended: break
                }
            }
        }
        state.withLock { $0.following.append(task) }
    }

    /// Displays a frame, unless playback is paused.
    private func show(_ frame: VideoFrame) {
        let isShown = state.withLock { state in
            guard state.presentation.shows(frame.captureTime) else { return false }
            state.lastFrame = frame
            return true
        }
        guard isShown else { return }
        onFrame(frame)
        let followsRenderer = followsCaptions
        let caption = stream?.caption(at: frame.captureTime)
        let window = timeShift?.seekableRange
        change {
            if let window { $0.set(window: window, at: $1) }
            $0.presented(
                frame.timestamp, captured: frame.captureTime, size: frame.dimensions, at: $1,
                wallTime: MonotonicClock.wallTime())
            if !followsRenderer { $0.show(caption: caption) }
        }
    }

    /// Applies the muted state and the volume to the renderer.
    private func apply() {
        let (renderer, isSilent, volume) = state.withLock { state in
            (state.renderer, state.isMuted || !state.presentation.clock.isPlaying, state.volume)
        }
        guard let renderer else { return }
        if isSilent { renderer.muteAudio() } else { renderer.unmuteAudio() }
        renderer.volume = volume
    }

    // MARK: Events

    /// Changes the presentation and wakes the thread that reports events.
    @discardableResult
    private func change<Result: Sendable>(_ body: (inout StreamPresentation, Instant) -> Result) -> Result {
        let result = state.withLock { body(&$0.presentation, MonotonicClock.now()) }
        signal.raise()
        return result
    }

    /// Reports events until the pipeline stops.
    private func notify() {
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
    /// The kind of tracks of the media type.
    fileprivate var kind: ContentTrack.Kind {
        switch self {
        case .video: .video
        case .audio: .audio
        }
    }
}

/// A surface that passes the frames of a renderer to a function when they are due.
final class StreamSurface: RenderSurface {
    private struct State {
        var arrangement = FrameArrangement()
        var statistics = SurfaceStatistics()
    }

    private let onFrame: @Sendable (VideoFrame) -> Void
    private let state = Mutex(State())

    /// Creates a surface.
    init(_ onFrame: @escaping @Sendable (VideoFrame) -> Void) { self.onFrame = onFrame }

    /// Passes a frame on.
    func show(_ frame: VideoFrame) { onFrame(frame) }

    /// The arrangement, which has no effect, because the final surface arranges the frames.
    var arrangement: FrameArrangement {
        get { state.withLock { $0.arrangement } }
        set { state.withLock { $0.arrangement = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    /// A stream without events, because this surface has neither size nor input.
    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
