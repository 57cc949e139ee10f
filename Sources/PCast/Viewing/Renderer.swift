public import PCastCore
public import PCastRendering
import PCastWebRTC
import PCastWindow
import Synchronization

/// Decodes a stream, shows its frames on a render surface and plays its audio (Phenix: `PhenixRenderer`). The stream is
/// subscribed to or, as a preview, that of this machine's sources.
///
/// Frames are shown where the application asks for a surface: by ``setRenderSurfaceReadyCallback(_:)``, which has the renderer
/// create one, or with a surface of its own (``setRenderSurface(_:)``). Without either, and with null devices, everything is
/// decoded, timed and measured, and the last frame can be requested.
public final class Renderer: Sendable {
    private struct State {
        var rendering: Rendering?
        var isMuted = false
        var volume = 1.0
        var surface: (any RenderSurface)?
        /// Nil where the application supplies the surface, or wants none.
        var created: CreatedSurface?
        /// Follows what happens to the surface.
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
    private let sizes = Broadcast<Dimensions>()
    private let measured = Broadcast<ViewerStatistics>()
    private let state = Mutex(State())

    init(stream: MediaStream, options: RendererOptions) {
        self.stream = stream
        self.options = options
    }

    deinit { stop() }

    // MARK: Starting and stopping

    /// Begins to show the stream, with the last key frame that arrived or the next. Once in a renderer's life.
    ///
    /// Where no audio device can be opened, the stream is shown without audio (``isAudioPlayed``).
    public func start() -> RendererStartStatus {
        guard stream.life.endedInfo == nil else { return .failed }
        let status: RendererStartStatus = state.withLock { state in
            guard state.rendering == nil, !state.isStopped else { return .conflict }
            do {
                let rendering = try Rendering(stream, options: options, first: first, sizes: sizes)
                rendering.isMuted = state.isMuted
                rendering.volume = state.volume
                rendering.setFrameReadyCallback(state.frameReady)
                rendering.surface = options.useNullVideoDevice ? nil : state.surface
                rendering.playoutDelayOverride = state.playoutDelayOverride
                rendering.tell(measured)
                state.rendering = rendering
                stream.life.whenEnded { [weak self] _ in self?.stop() }
                return .ok
            } catch {
                return .failed
            }
        }
        if status == .ok { createSurface() }
        return status
    }

    /// Begins to show the stream on a surface (Phenix: `start:` with a layer).
    public func start(on surface: any RenderSurface) -> RendererStartStatus {
        setRenderSurface(surface)
        return start()
    }

    /// Ends showing; the last picture and the summary can still be asked for. A window that the renderer created is closed.
    /// Harmless when called again.
    public func stop() {
        let (rendering, created) = state.withLock { state in
            state.isStopped = true
            state.following?.cancel()
            state.following = nil
            defer { state.created = nil }
            return (state.rendering, state.created)
        }
        rendering?.stop()
        created?.close()
        first.resolve(nil)
        sizes.finish()
        measured.finish()
    }

    private var rendering: Rendering? { state.withLock { $0.rendering } }

    // MARK: The surface

    /// Shows pictures on this surface from now on, the last one at once; nil for none. Its arrangement becomes what the
    /// options say, and may be changed on the surface itself. Before or after the start. It replaces a surface that the renderer
    /// created.
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
    /// If the application has not supplied a surface, the renderer creates it when it is started, or now if it is running:
    /// * Where a display is available (`DISPLAY`, `WAYLAND_DISPLAY`), it is a ``VideoWindow`` with the aspect mode of the
    ///   options. It appears with the first frame. SDL 2 is loaded at that time.
    /// * Otherwise it is a ``MemorySurface``, from which the application draws. Without SDL 2 it is the same.
    ///
    /// A window that is lost is opened again, or replaced by a `MemorySurface` when that is impossible, and delivered again. A
    /// window that a person closed stays closed until the application opens it (``VideoWindow/open()``), and then it is
    /// delivered again. No surface is created for a stream without video or for a null video device.
    public func setRenderSurfaceReadyCallback(
        _ callback: @escaping @Sendable (Renderer, any RenderSurface) -> Void
    ) {
        let isCreating = state.withLock { state in
            state.surfaceReady = callback
            guard state.created == nil else {
                // Whoever comes late is told that it is there.
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

    /// Creates the surface that the application asked for and did not supply.
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

    private func attachCreated(_ surface: any RenderSurface) {
        state.withLock { state in
            // Meanwhile the application may have supplied a surface, or stopped the renderer.
            if state.created != nil { attach(surface, &state) }
        }
    }

    private func deliver(_ surface: any RenderSurface) { state.withLock { $0.surfaceReady }?(self, surface) }

    private func attach(_ surface: (any RenderSurface)?, _ state: inout State) {
        state.surface = surface
        if !options.useNullVideoDevice { state.rendering?.surface = surface }
    }

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

    private var arrangement: FrameArrangement {
        FrameArrangement(
            aspectRatioMode: options.aspectRatioMode, mirroring: isMirrored ? .horizontal : [],
            rotation: options.rotation)
    }

    /// Whether this is the preview of a camera that faces the user, and such are mirrored.
    private var isMirrored: Bool {
        guard options.autoMirroringEnabled, case .local(let media) = stream.origin else { return false }
        return media.video?.selection?.device.info.facingMode == .user
    }

    // MARK: Sound

    /// Whether audio is played: false before the start, with a null audio device, and where no audio device can be opened.
    public var isAudioPlayed: Bool { rendering?.isAudioPlayed ?? false }

    public var isAudioMuted: Bool { state.withLock { $0.isMuted } }

    public func muteAudio() { setMuted(true) }

    public func unmuteAudio() { setMuted(false) }

    private func setMuted(_ isMuted: Bool) {
        state.withLock { state in
            state.isMuted = isMuted
            state.rendering?.isMuted = isMuted
        }
    }

    /// How loud the stream is played, 0 to 1; of no effect without a loudspeaker.
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

    /// How long frames wait at this moment beyond what the path and the decoder take at least; nil before the first.
    /// It follows the network, within what the platform asks for.
    public var playoutDelay: TimeSpan? { rendering?.playoutDelay }

    /// Each change of ``playoutDelay`` of a millisecond or more, looked at once a second, until the renderer stops (Phenix:
    /// `getObservablePlayoutDelay`).
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

    /// Lets frames wait exactly this long, whatever the network and the platform say; nil leaves it to them again (Phenix:
    /// `overridePlayoutDelay`). It is come to gradually, a second of delay in seven seconds.
    public func overridePlayoutDelay(_ delay: TimeSpan?) {
        state.withLock { state in
            state.playoutDelayOverride = delay
            state.rendering?.playoutDelayOverride = delay
        }
    }

    /// Where this viewer stands to those who show the same picture at the same time; nil where the stream does not ask for
    /// it.
    public var playoutGroup: PlayoutGroup? {
        rendering?.playoutGroup.flatMap { PlayoutGroup(rawValue: $0.rawValue) }
    }

    // MARK: Pictures

    /// When the first whole picture was shown, on the machine's monotonic clock; waits for it. Nil when the renderer
    /// was stopped or the stream ended before.
    public var firstFrame: Instant? { get async { await first.settled } }

    /// Calls back once, with the moment at which the first picture was shown on the machine's monotonic clock; never
    /// when there was none.
    public func setFirstFrameRenderedCallback(_ callback: @escaping @Sendable (Renderer, Instant) -> Void) {
        first.whenSettled { [weak self] instant in
            guard let self, let instant else { return }
            Task { callback(self, instant) }
        }
    }

    /// Calls back with each picture of a track before it is shown, which the callback may read, replace or leave out (seed
    /// 004, "frame ready"); nil for nobody. It must be quick: decoding waits for it. Of sound there is nothing to be told.
    public func setFrameReadyCallback(_ track: MediaStreamTrack, _ callback: FrameReadyCallback?) {
        guard track.mediaType == .video else { return }
        state.withLock { state in
            state.frameReady = callback
            state.rendering?.setFrameReadyCallback(callback)
        }
    }

    /// The size of the picture that is shown; nil before the first.
    public var videoDisplayDimensions: Dimensions? { rendering?.lastFrame?.dimensions }

    /// Each size from now on, until the renderer stops.
    public var videoDisplayDimensionsChanges: AsyncStream<Dimensions> { sizes.listen() }

    /// Calls back with each size from now on (seed 004, `setVideoDisplayDimensionsChangedCallback`).
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

    /// The picture that was shown last; nil before the first.
    public var lastVideoFrameRendered: VideoFrame? { rendering?.lastFrame }

    /// What ``requestLastVideoFrameRendered()`` calls, with nil when no picture has been shown.
    public func setLastVideoFrameRenderedReceivedCallback(
        _ callback: @escaping @Sendable (Renderer, VideoFrame?) -> Void
    ) {
        state.withLock { $0.frameReceived = callback }
    }

    /// Asks for the picture that was shown last (seed 004, "Taking a Screenshot").
    public func requestLastVideoFrameRendered() {
        guard let callback = state.withLock({ $0.frameReceived }) else { return }
        Task { callback(self, lastVideoFrameRendered) }
    }

    /// Writes the picture that was shown last as PNG or JPEG, as the path's extension says.
    ///
    /// - Returns: its size.
    /// - Throws: `notReady` before the first picture, `failed` when the file cannot be written.
    public func screenshot(to path: String) async throws(PCastError) -> Dimensions {
        guard let rendering else {
            throw PCastError(.notReady, .usage, "no picture has been shown, the renderer was not started")
        }
        do {
            if let dimensions = try rendering.screenshot(to: path) { return dimensions }
        } catch {
            throw PCastError(.failed, .device, "the screenshot \(path) cannot be written: \(error)")
        }
        throw PCastError(.notReady, .media, "no picture has been shown yet")
    }

    // MARK: What gets through

    /// What the platform says of the way to here, or what is known here better.
    public var dataQuality: DataQuality { stream.life.dataQuality }

    /// Each change of ``dataQuality`` from now on, until the stream ends.
    public var dataQualities: AsyncStream<DataQuality> { stream.life.qualities.listen() }

    /// Calls back at each change, until the stream ends (seed 004, `setDataQualityChangedCallback`).
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

    /// What arrived and was shown, each second from now on, until the renderer stops. Each access makes a stream of its
    /// own.
    public var statistics: AsyncStream<ViewerStatistics> { measured.listen() }

    /// What was counted since the stream began, under WebRTC's own names (W3C webrtc-stats), what this renderer decoded and
    /// showed included.
    public func getStats() async -> RTCStatsReport {
        var report = await stream.getStats()
        guard let rendering else { return report }
        for index in report.inbound.indices where report.inbound[index].kind == .video {
            rendering.report(into: &report.inbound[index])
        }
        return report
    }

    /// Counts, and percentiles, of the whole run; also after the renderer stopped.
    public func summary() async -> ViewerStatistics { await rendering?.summary() ?? ViewerStatistics() }
}
