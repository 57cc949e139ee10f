public import PCastCore
public import PCastRendering
import PCastWebRTC
import PCastWindow
import Synchronization

/// Decodes a stream, shows its frames on a render surface and plays its audio (Phenix: `PhenixRenderer`). The stream is
/// subscribed to or, as a preview, that of this machine's sources.
///
/// Frames are shown if the application requests a surface. ``setRenderSurfaceReadyCallback(_:)`` makes the renderer
/// create one, and ``setRenderSurface(_:)`` sets one of the application. Without a surface and with null devices,
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
        var frameReady: FrameReadyCallback?
        var isStopped = false
        var playoutDelayOverride: TimeSpan?
        var frameReceived: (@Sendable (Renderer, VideoFrame?) -> Void)?
    }

    private let stream: MediaStream
    private let options: RendererOptions
    private let first = Promise<Instant?>()
    private let sizes = EventBroadcaster<Dimensions>()
    private let measured = EventBroadcaster<ViewerStatistics>()
    /// The text of the captions on the displayed frame; nil for none.
    public let caption = ObservableValue<String?>(nil)
    private let state = Mutex(State())

    init(stream: MediaStream, options: RendererOptions) {
        self.stream = stream
        self.options = options
    }

    deinit { stop() }

    // MARK: Starting and stopping

    /// Begins to render the stream, from the last received key frame or the next one. A renderer can be started once.
    /// If no audio device can be opened, there is no audio (``isAudioPlayed``). Returns `ok`, or the reason why rendering
    /// did not begin.
    public func start() -> RendererStartStatus {
        guard stream.lifecycle.endedInfo == nil else { return .failed }
        let status: RendererStartStatus = state.withLock { state in
            guard state.rendering == nil, !state.isStopped else { return .conflict }
            do {
                let rendering = try Rendering(
                    stream, options: options, first: first, sizes: sizes, caption: caption)
                rendering.isMuted = state.isMuted
                rendering.volume = state.volume
                rendering.setFrameReadyCallback(state.frameReady)
                rendering.surface = options.useNullVideoDevice ? nil : state.surface
                rendering.playoutDelayOverride = state.playoutDelayOverride
                rendering.notify(measured)
                state.rendering = rendering
                stream.lifecycle.whenEnded { [weak self] _ in self?.stop() }
                return .ok
            } catch {
                return .failed
            }
        }
        if status == .ok { createSurface() }
        return status
    }

    /// Begins to render the stream on a surface (Phenix: `start:` with a layer). Returns the result.
    public func start(on surface: any RenderSurface) -> RendererStartStatus {
        setRenderSurface(surface)
        return start()
    }

    /// Ends rendering. The last frame and the summary stay available. A window that the renderer created is closed. It
    /// has no effect when it is called again.
    public func stop() {
        let (rendering, created) = state.withLock { state in
            state.isStopped = true
            state.following?.cancel()
            state.following = nil
            defer { state.created = nil }
            return (state.rendering, state.created)
        }
        rendering?.stop()
        caption.set(nil)
        created?.close()
        first.resolve(nil)
        sizes.finish()
        measured.finish()
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

    /// Calls back each time that the render surface is ready: at first, and again after an interruption (Phenix:
    /// `setRenderSurfaceReadyCallback`).
    ///
    /// If the application has not supplied a surface, the renderer creates it when it is started, or now if it is
    /// running:
    /// * If a display is available (`DISPLAY`, `WAYLAND_DISPLAY`), it is a ``VideoWindow`` with the aspect ratio mode
    ///   of the options. It appears with the first frame. SDL 2 is loaded at that time.
    /// * Otherwise, and without SDL 2, it is a ``MemorySurface``, from which the application draws.
    ///
    /// A lost window is opened again, or replaced by a `MemorySurface` if that is impossible, and delivered again. A
    /// window that a person closed stays closed until the application opens it (``VideoWindow/open()``), and is then
    /// delivered again. No surface is created for a stream without video or for a null video device.
    ///
    /// - Parameter callback: The function that receives the surface.
    public func setRenderSurfaceReadyCallback(
        _ callback: @escaping @Sendable (Renderer, any RenderSurface) -> Void
    ) {
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
    public var playoutDelay: TimeSpan? { rendering?.playoutDelay }

    /// The changes of ``playoutDelay`` by at least a millisecond, measured once per second, until the renderer stops
    /// (Phenix: `getObservablePlayoutDelay`).
    public var playoutDelays: AsyncStream<TimeSpan> {
        let statistics = statistics
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last: Double?
                for await figures in statistics {
                    guard let delay = figures.playoutDelay, last.map({ abs($0 - delay) >= 1 }) ?? true else { continue }
                    last = delay
                    continuation.yield(TimeSpan(seconds: delay / 1_000))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Sets a fixed playout delay, independent of the network and the platform; nil removes it (Phenix:
    /// `overridePlayoutDelay`). The delay changes gradually, by one second in seven seconds.
    public func overridePlayoutDelay(_ delay: TimeSpan?) {
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

    /// Calls back once with the time on the machine's monotonic clock at which the first frame was shown. There is no
    /// call if no frame was shown.
    public func setFirstFrameRenderedCallback(_ callback: @escaping @Sendable (Renderer, Instant) -> Void) {
        first.whenSettled { [weak self] instant in
            guard let self, let instant else { return }
            Task { callback(self, instant) }
        }
    }

    /// Calls back with each frame of a track before it is shown. The callback may read, replace or drop the frame
    /// (Phenix: `setFrameReadyCallback`).
    ///
    /// The callback must return quickly, because decoding waits for it. It is not called for an audio track.
    ///
    /// - Parameters:
    ///   - track: The video track.
    ///   - callback: The callback; nil to remove it.
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

    /// Calls back at each change of the dimensions (Phenix: `setVideoDisplayDimensionsChangedCallback`).
    public func setVideoDisplayDimensionsChangedCallback(
        _ callback: @escaping @Sendable (Renderer, Dimensions) -> Void
    ) {
        let changes = videoDisplayDimensionsChanges
        Task { [weak self] in
            for await dimensions in changes {
                guard let self else { return }
                callback(self, dimensions)
            }
        }
    }

    /// Calls back at each change of the captions on the displayed frame, while the stream is rendered. The text is nil
    /// for none.
    ///
    /// Captions follow the capture time of the displayed frame. A stream without video, or without capture times, shows
    /// them by the platform's clock.
    public func setCaptionChangedCallback(_ callback: @escaping @Sendable (Renderer, String?) -> Void) {
        let changes = caption.values
        Task { [weak self] in
            var last: String?
            for await text in changes where text != last {
                guard let self else { return }
                last = text
                callback(self, text)
            }
        }
    }

    /// The frame that was shown last; nil before the first one.
    public var lastVideoFrameRendered: VideoFrame? { rendering?.lastFrame }

    /// Sets the callback of ``requestLastVideoFrameRendered()``. It receives nil if no frame has been shown.
    public func setLastVideoFrameRenderedReceivedCallback(
        _ callback: @escaping @Sendable (Renderer, VideoFrame?) -> Void
    ) {
        state.withLock { $0.frameReceived = callback }
    }

    /// Requests the frame that was shown last, e.g. for a screenshot (Phenix: `requestLastVideoFrameRendered`).
    public func requestLastVideoFrameRendered() {
        guard let callback = state.withLock({ $0.frameReceived }) else { return }
        Task { callback(self, lastVideoFrameRendered) }
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

    /// Calls back at each change of the data quality until the stream ends (Phenix: `setDataQualityChangedCallback`).
    public func setDataQualityChangedCallback(
        _ callback: @escaping @Sendable (Renderer, DataQuality.Status, DataQuality.Reason) -> Void
    ) {
        let qualities = dataQualities
        Task { [weak self] in
            for await quality in qualities {
                guard let self else { return }
                callback(self, quality.status, quality.reason)
            }
        }
    }

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
