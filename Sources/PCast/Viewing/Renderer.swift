public import PCastCore
import PCastIO
public import PCastRendering
import PCastWebRTC
import PCastWindow
import Synchronization

/// Decodes a stream, shows its frames on a render surface and plays its audio (Phenix: `PhenixRenderer`). The stream is
/// subscribed to or, as a preview, that of this machine's sources.
///
/// Frames are shown if the application requests a surface. ``createRenderSurface()`` makes the renderer create one, and ``setRenderSurface(_:)`` sets one of the application. Without a surface and with null devices,
/// everything is decoded, timed and measured, and the last frame is available.
public final class Renderer: Sendable {
    private struct State {
        var rendering: Rendering?
        var isMuted = false
        var volume = 1.0
        var surface: (any RenderSurface)?
        /// The surface that the renderer creates; nil if the application supplies the surface or requests none.
        var created: CreatedSurface?
        /// Follows the events of the surface.
        var following: Task<Void, Never>?
        var surfaceReady: (@Sendable (Renderer, any RenderSurface) -> Void)?
        /// Called when no more surfaces become ready.
        var surfacesEnded: (@Sendable () -> Void)?
        var frameReady: FrameReadyCallback?
        /// Receives the audio and its presentation times; nil for none.
        var audioTap: (@Sendable (AudioFrame, Instant) -> Void)?
        var isStopped = false
        var playoutDelayOverride: TimeSpan?
        var frameRequested: (@Sendable (Renderer, VideoFrame?) -> Void)?
    }

    private let stream: MediaStream
    private let options: RendererOptions
    private let first = Promise<Instant?>()
    private let over = Promise<Bool>()
    private let sizes = EventBroadcaster<Dimensions>()
    private let measured = EventBroadcaster<ViewerStatistics>()
    /// The text of the captions on the displayed frame; nil for none.
    public let caption = ObservableValue<String?>(nil)
    /// The playback in the window of the stream, before real time. ``seek(to:)`` begins it.
    public let timeShift = TimeShift()
    private let state = Mutex(State())

    init(stream: MediaStream, options: RendererOptions) {
        self.stream = stream
        self.options = options
    }

    deinit { stop() }

    // MARK: Starting and stopping

    /// Begins to render the stream, from the last received key frame or the next one. A renderer can be started once.
    /// If no audio device can be opened, there is no audio (``isAudioPlayed``).
    ///
    /// - Throws: ``PCastError`` with the status `gone` if the renderer was already started or stopped, and `failed` if
    ///   the stream has ended, or if no thread or decoder can be started.
    @_disfavoredOverload  // `PCastCompatibility` has a form that returns a status.
    public func start() throws(PCastError) {
        if let info = stream.lifecycle.endedInfo {
            throw PCastError(.failed, .media, "the stream has ended (\(info.reasonDescription)): render a new one")
        }
        let failure: PCastError? = state.withLock { state in
            guard state.rendering == nil, !state.isStopped else {
                return PCastError(.gone, .usage, "this renderer was already started or stopped")
            }
            do {
                let rendering = try Rendering(
                    stream, options: options, first: first, sizes: sizes, caption: caption, timeShift: timeShift,
                    audioTap: state.audioTap)
                timeShift.attach(rendering)
                rendering.isMuted = state.isMuted
                rendering.volume = state.volume
                rendering.setFrameReadyCallback(state.frameReady)
                rendering.surface = options.useNullVideoDevice ? nil : state.surface
                rendering.playoutDelayOverride = state.playoutDelayOverride
                rendering.notify(measured)
                state.rendering = rendering
                return nil
            } catch {
                return PCastError(.failed, .device, "rendering cannot begin: \(error)")
            }
        }
        if let failure { throw failure }
        createSurface()
        // The action runs at once if the stream has ended meanwhile, so the lock must not be held.
        stream.lifecycle.whenEnded { [weak self] in self?.finish($0) }
    }

    /// Begins to render the stream on a surface (Phenix: `start:` with a layer).
    ///
    /// - Parameter surface: The surface.
    /// - Throws: ``PCastError``; see ``start()``.
    public func start(on surface: any RenderSurface) throws(PCastError) {
        setRenderSurface(surface)
        try start()
    }

    /// Sets the function that receives the audio with its presentation times, ahead of these times, also without an audio
    /// device. The audio is silent while it is muted. It applies to a renderer that has not started.
    package func setAudioTap(_ tap: @escaping @Sendable (AudioFrame, Instant) -> Void) {
        state.withLock { $0.audioTap = tap }
    }

    /// Ends rendering after the end of the stream. Media that was received before is presented at its times first, by a
    /// thread of its own, unless this client has ended the stream.
    private func finish(_ info: StreamEndedInfo) {
        guard let rendering, info.ender != .stop else { return stop() }
        do throws(IOError) {
            _ = try WorkerThread(name: "finish-stream") { [weak self] in
                rendering.finish()
                self?.stop()
            }
        } catch {
            stop()
        }
    }

    /// Waits until rendering has ended: by ``stop()``, or after the last frame and the last audio of a stream that has
    /// ended. It returns at once if rendering has not begun.
    public var stopped: Void {
        get async { if rendering != nil { _ = await over.settled } }
    }

    /// Ends rendering. Media that was received and is not presented yet is discarded. The last frame and the summary stay
    /// available. A window that the renderer created is closed. It has no effect when it is called again.
    ///
    /// After the end of the stream, rendering ends by itself, when the last frame was shown and the last audio was played
    /// (``stopped``).
    public func stop() {
        let (rendering, created, surfacesEnded) = state.withLock { state in
            state.isStopped = true
            state.following?.cancel()
            state.following = nil
            defer { (state.created, state.surfacesEnded) = (nil, nil) }
            return (state.rendering, state.created, state.surfacesEnded)
        }
        surfacesEnded?()
        rendering?.stop()
        timeShift.attach(nil)
        caption.set(nil)
        created?.close()
        first.resolve(nil)
        sizes.finish()
        measured.finish()
        over.resolve(true)
    }

    private var rendering: Rendering? { state.withLock { $0.rendering } }

    // MARK: Surface

    /// Sets the surface on which frames are shown; nil for none. The last frame appears at once.
    ///
    /// The surface gets the arrangement of the options, which may then be changed on the surface. The function may be
    /// called before or after the start. The surface replaces one that the renderer created.
    ///
    /// - Parameter surface: The surface; nil for none.
    public func setRenderSurface(_ surface: (any RenderSurface)?) {
        if let surface { surface.arrangement = arrangement }
        let created = state.withLock { state in
            attach(surface, &state)
            state.following?.cancel()
            state.following = surface.map { follow($0) }
            defer { state.created = nil }
            return state.created
        }
        created?.close()
    }

    /// Lets the renderer create its render surface, and returns the surfaces: the first one, and those after an
    /// interruption, until the renderer stops. The result may be ignored. A later call replaces an earlier one, whose
    /// stream then ends.
    ///
    /// If the application has not supplied a surface, the renderer creates it when it is started, or now if it is
    /// running:
    /// * If a display is available (`DISPLAY`, `WAYLAND_DISPLAY`), it is a ``VideoWindow`` with the aspect ratio mode
    ///   of the options. It appears with the first frame. SDL 2 is loaded at that time.
    /// * Otherwise, and without SDL 2, it is a ``MemorySurface``, from which the application draws.
    ///
    /// A lost window is opened again, or replaced by a `MemorySurface` if that is impossible, and returned again. A
    /// window that a person closed stays closed until the application opens it (``VideoWindow/open()``), and is then
    /// returned again. No surface is created for a stream without video or for a null video device.
    ///
    /// - Returns: The surfaces that are ready.
    @discardableResult
    public func createRenderSurface() -> AsyncStream<any RenderSurface> {
        let (surfaces, reader) = AsyncStream.makeStream(
            of: (any RenderSurface).self, bufferingPolicy: .bufferingNewest(1))
        whenRenderSurfaceReady({ _, surface in reader.yield(surface) }, ended: { reader.finish() })
        return surfaces
    }

    /// Calls `callback` with each surface of ``createRenderSurface()``, and `ended` when there are no more.
    package func whenRenderSurfaceReady(
        _ callback: @escaping @Sendable (Renderer, any RenderSurface) -> Void,
        ended: @escaping @Sendable () -> Void = {}
    ) {
        let (formerEnded, isStopped) = state.withLock { state in
            defer { state.surfacesEnded = state.isStopped ? nil : ended }
            return (state.surfacesEnded, state.isStopped)
        }
        formerEnded?()
        if isStopped { ended() }
        let isCreating = state.withLock { state in
            state.surfaceReady = callback
            guard state.created == nil else {
                // A late callback also receives the present surface.
                if let surface = state.surface, (surface as? VideoWindow)?.isOpen ?? true {
                    Task { callback(self, surface) }
                }
                return false
            }
            state.following?.cancel()
            state.following = state.surface.map { follow($0) }
            return state.surface == nil && state.rendering != nil && !state.isStopped
        }
        if isCreating { createSurface() }
    }

    /// Creates the surface, if the application has requested one and has not supplied it.
    private func createSurface() {
        guard !options.useNullVideoDevice, !stream.videoTracks.isEmpty else { return }
        let arrangement = arrangement
        state.withLock { state in
            guard state.surface == nil, state.created == nil, state.surfaceReady != nil, !state.isStopped else {
                return
            }
            state.created = CreatedSurface(
                arrangement, attach: { [weak self] in self?.attachCreated($0) },
                deliver: { [weak self] in self?.deliver($0) })
        }
    }

    /// Sets a created surface.
    private func attachCreated(_ surface: any RenderSurface) {
        state.withLock { state in
            // Meanwhile the application may have supplied a surface, or stopped the renderer.
            if state.created != nil { attach(surface, &state) }
        }
    }

    /// Calls the application back with a surface that is ready.
    private func deliver(_ surface: any RenderSurface) { state.withLock { $0.surfaceReady }?(self, surface) }

    /// Sets the surface of the state and of the rendering.
    private func attach(_ surface: (any RenderSurface)?, _ state: inout State) {
        state.surface = surface
        if !options.useNullVideoDevice { state.rendering?.surface = surface }
    }

    /// Returns a task that delivers the application's surface each time that it is ready.
    private func follow(_ surface: any RenderSurface) -> Task<Void, Never> {
        let events = surface.events
        return Task { [weak self] in
            for await event in events {
                guard case .ready = event else { continue }
                guard let self, !Task.isCancelled else { return }
                self.deliver(surface)
            }
        }
    }

    /// The arrangement of frames by the options.
    private var arrangement: FrameArrangement {
        FrameArrangement(
            aspectRatioMode: options.aspectRatioMode, mirroring: isMirrored ? .horizontal : [],
            rotation: options.rotation)
    }

    /// Whether the stream is the preview of a camera that faces the user, and the options mirror it.
    private var isMirrored: Bool {
        guard options.autoMirroringEnabled, case .local(let media) = stream.origin else { return false }
        return media.video?.selection?.device.info.facingMode == .user
    }

    // MARK: Audio

    /// Whether audio is played. It is false before the start, with a null audio device, and if no audio device can be
    /// opened.
    public var isAudioPlayed: Bool { rendering?.isAudioPlayed ?? false }

    /// Whether the audio is muted.
    public var isAudioMuted: Bool { state.withLock { $0.isMuted } }

    /// Mutes the audio.
    public func muteAudio() { setMuted(true) }

    /// Unmutes the audio.
    public func unmuteAudio() { setMuted(false) }

    private func setMuted(_ isMuted: Bool) {
        state.withLock { state in
            state.isMuted = isMuted
            state.rendering?.isMuted = isMuted
        }
    }

    /// The volume of the audio, 0...1. It has no effect without an audio output.
    public var volume: Double {
        get { state.withLock { $0.volume } }
        set {
            state.withLock { state in
                state.volume = min(max(newValue, 0), 1)
                state.rendering?.volume = state.volume
            }
        }
    }

    // MARK: Playout

    /// The present delay of frames in addition to the minimum delay of the path and the decoder; nil before the first
    /// frame. It follows the network's jitter, within the bounds of the platform.
    public var playoutDelay: Duration? { rendering?.playoutDelay?.duration }

    /// The changes of ``playoutDelay`` by at least a millisecond, measured once per second, until the renderer stops
    /// (Phenix: `getObservablePlayoutDelay`).
    public var playoutDelays: AsyncStream<Duration> {
        let statistics = statistics
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last: Duration?
                for await figures in statistics {
                    guard let delay = figures.playoutDelay else { continue }
                    if let last, abs((delay - last).milliseconds) < 1 { continue }
                    last = delay
                    continuation.yield(delay)
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Sets a fixed playout delay, independent of the network and the platform; nil removes it (Phenix:
    /// `overridePlayoutDelay`). The delay changes gradually, by one second in seven seconds.
    public func overridePlayoutDelay(_ delay: Duration?) {
        let delay = delay.map { TimeSpan($0) }
        state.withLock { state in
            state.playoutDelayOverride = delay
            state.rendering?.playoutDelayOverride = delay
        }
    }

    /// The state of this viewer in a group that presents the same frame at the same time; nil if the stream does not
    /// require synchronized playout.
    public var playoutGroup: PlayoutGroup? {
        rendering?.playoutGroup.flatMap { PlayoutGroup(rawValue: $0.rawValue) }
    }

    // MARK: Frames

    /// The time on the machine's monotonic clock at which the first complete frame was shown; waits for it. Nil if the
    /// renderer was stopped or the stream ended before.
    public var firstFrame: Instant? { get async { await first.settled } }

    /// Calls `action` once with the time at which the first frame was shown; nil if none was shown before the end.
    package func whenFirstFrameRendered(_ action: @escaping @Sendable (Instant?) -> Void) {
        first.whenSettled(action)
    }

    /// Sets the function that processes each frame of a track before it is shown. It may read, replace or drop the frame
    /// (Phenix: `setFrameReadyCallback`).
    ///
    /// The function must return quickly, because decoding waits for it. It is not called for an audio track.
    ///
    /// - Parameters:
    ///   - track: The video track.
    ///   - callback: The function; nil to remove it.
    public func setFrameReadyCallback(_ track: MediaStreamTrack, _ callback: FrameReadyCallback?) {
        guard track.mediaType == .video else { return }
        state.withLock { state in
            state.frameReady = callback
            state.rendering?.setFrameReadyCallback(callback)
        }
    }

    /// The dimensions of the frame that is shown; nil before the first one.
    public var videoDisplayDimensions: Dimensions? { rendering?.lastFrame?.dimensions }

    /// The changes of the dimensions until the renderer stops.
    public var videoDisplayDimensionsChanges: AsyncStream<Dimensions> { sizes.listen() }

    /// The frame that was shown last; nil before the first one.
    public var lastVideoFrameRendered: VideoFrame? { rendering?.lastFrame }

    /// The function that receives the last frame at each request (`PCastCompatibility`); nil for none.
    package var frameRequested: (@Sendable (Renderer, VideoFrame?) -> Void)? {
        get { state.withLock { $0.frameRequested } }
        set { state.withLock { $0.frameRequested = newValue } }
    }

    /// Writes the frame that was shown last to a PNG or JPEG file, by the extension of the path.
    ///
    /// - Parameter path: The path of the file.
    /// - Returns: The dimensions of the frame.
    /// - Throws: ``PCastError`` with the status `notReady` before the first frame, and `failed` if the file cannot be
    ///   written.
    public func screenshot(to path: String) async throws(PCastError) -> Dimensions {
        guard let rendering else {
            throw PCastError(.notReady, .usage, "no frame has been rendered, because the renderer was not started")
        }
        do {
            if let dimensions = try rendering.screenshot(to: path) { return dimensions }
        } catch {
            throw PCastError(.failed, .device, "the screenshot \(path) cannot be written: \(error)")
        }
        throw PCastError(.notReady, .media, "no frame has been rendered yet")
    }

    // MARK: Statistics

    /// The data quality that the platform reports, or that the client has detected itself.
    public var dataQuality: DataQuality { stream.lifecycle.dataQuality }

    /// The changes of ``dataQuality`` until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { stream.lifecycle.qualities.listen() }

    /// The statistics of each second until the renderer stops. Each access creates a new stream.
    public var statistics: AsyncStream<ViewerStatistics> { measured.listen() }

    /// Returns the statistics of the W3C (webrtc-stats) since the stream began, including those of the frames that this
    /// renderer decoded and showed.
    public func getStats() async -> RTCStatsReport {
        var report = await stream.getStats()
        guard let rendering else { return report }
        for index in report.inbound.indices where report.inbound[index].kind == .video {
            rendering.report(into: &report.inbound[index])
        }
        return report
    }

    /// Returns the counters and percentiles of the whole run. They stay available after the renderer has stopped.
    public func summary() async -> ViewerStatistics { await rendering?.summary() ?? ViewerStatistics() }
}
