import PCastCore
import PCastIO
import PCastRTP
import PCastRendering
import PCastWebRTC
import Synchronization

/// One run of a renderer: what arrives, or this machine's sources give, goes into a ``StreamRenderer``, and each second
/// it is measured.
final class Rendering: Sendable {
    private struct State {
        /// Ends what comes.
        var leave: (@Sendable () -> Void)?
        var sampler: Task<Void, Never>?
        var rate = RateMeter()
    }

    /// Nil for sources of this machine.
    private let media: RemoteMedia?
    private let renderer: StreamRenderer
    private let state = Mutex(State())

    init(
        _ stream: MediaStream, options: RendererOptions, first: Promise<Instant?>, sizes: Broadcast<Dimensions>
    ) throws {
        var rendering = PCastRendering.RendererOptions()
        rendering.measuresTestSignal = options.measuresTestSignal
        rendering.loudspeaker = options.useNullAudioDevice ? nil : "default"
        let callbacks = RendererCallbacks(
            onFirstFrame: { first.resolve(MonotonicClock.now()) }, onDimensions: { sizes.send($0) })
        switch stream.origin {
        case .remote(let media):
            rendering.synchronization = options.lipSync ? .lipSync : .immediate
            self.media = media
            renderer = try Self.renderer(rendering, callbacks) { [call = media.call] in call.requestKeyFrame() }
            let leave = take(from: media, stream)
            state.withLock { $0.leave = leave }
        case .local(let media):
            self.media = nil
            renderer = try Self.renderer(of: media, rendering, callbacks)
            let leave = try take(from: media, stream)
            state.withLock { $0.leave = leave }
        case .application(let media):
            self.media = nil
            renderer = try Self.renderer(of: media, rendering, callbacks)
            let leave = try take(from: media, stream)
            state.withLock { $0.leave = leave }
        }
    }

    /// Of what is of this machine.
    private static func renderer(
        of media: any PublishedMedia, _ options: PCastRendering.RendererOptions, _ callbacks: RendererCallbacks
    ) throws -> StreamRenderer {
        var options = options
        // What is captured here waits for nothing.
        options.synchronization = .immediate
        return try renderer(options, callbacks) { [weak media] in media?.requestKeyFrame() }
    }

    private static func renderer(
        _ options: PCastRendering.RendererOptions, _ callbacks: RendererCallbacks,
        onKeyFrameNeeded: @escaping @Sendable () -> Void
    ) throws -> StreamRenderer {
        var callbacks = callbacks
        callbacks.onKeyFrameNeeded = onKeyFrameNeeded
        do {
            return try StreamRenderer(options: options, callbacks: callbacks)
        } catch {
            // Without an audio device the stream can be seen all the same.
            guard options.loudspeaker != nil else { throw error }
            var silent = options
            silent.loudspeaker = nil
            return try StreamRenderer(options: silent, callbacks: callbacks)
        }
    }

    /// Whether an audio device plays the audio.
    var isAudioPlayed: Bool { renderer.loudspeakerStatistics != nil }

    /// Answers what ends it.
    private func take(from media: RemoteMedia, _ stream: MediaStream) -> @Sendable () -> Void {
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        let id = media.feed.add { [renderer] media in
            switch media {
            case .frame(let frame, _):
                let track = frame.codec.mediaType == .video ? tracks.video : tracks.audio
                if track?.isEnabled == true { renderer.push(frame) }
            case .gap(let gap): if tracks.audio?.isEnabled == true { renderer.concealAudio(gap.duration) }
            }
        }
        return { media.feed.remove(id) }
    }

    /// Answers what ends it.
    private func take(from media: any PublishedMedia, _ stream: MediaStream) throws(PCastError) -> @Sendable () -> Void
    {
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        let id = try media.add { [renderer] frame in
            switch frame {
            case .video(.picture(let picture)): if tracks.video?.isEnabled == true { renderer.push(picture) }
            case .video(.coded(let frame)): if tracks.video?.isEnabled == true { renderer.push(frame) }
            case .audio(let sound): if tracks.audio?.isEnabled == true { renderer.push(sound) }
            case .codedAudio(let frame): if tracks.audio?.isEnabled == true { renderer.push(frame) }
            }
        }
        media.setDemand(id, true)
        return { media.remove(id) }
    }

    /// Sends what was measured each second, until stopped.
    func tell(_ listeners: Broadcast<ViewerStatistics>) {
        let sampler = Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(1)) } catch { return }
                guard let self else { return }
                listeners.send(await self.measure())
            }
        }
        state.withLock { state in
            state.rate.read(bytes: 0, at: MonotonicClock.now())
            state.sampler = sampler
        }
    }

    func stop() {
        let (leave, sampler) = state.withLock { state in
            defer { (state.leave, state.sampler) = (nil, nil) }
            return (state.leave, state.sampler)
        }
        leave?()
        sampler?.cancel()
        renderer.stop()
    }

    var isMuted: Bool {
        get { renderer.isMuted }
        set { renderer.isMuted = newValue }
    }

    var volume: Double {
        get { renderer.volume }
        set { renderer.volume = newValue }
    }

    var surface: (any RenderSurface)? {
        get { renderer.surface }
        set { renderer.surface = newValue }
    }

    func setFrameReadyCallback(_ callback: FrameReadyCallback?) { renderer.setFrameReadyCallback(callback) }

    var lastFrame: VideoFrame? { renderer.lastFrame }

    func screenshot(to path: String) throws -> Dimensions? { try renderer.screenshot(to: path) }

    // MARK: Playout

    var playoutDelay: TimeSpan? { renderer.playoutDelay }

    var playoutDelayOverride: TimeSpan? {
        get { renderer.playoutDelayOverride }
        set { renderer.playoutDelayOverride = newValue }
    }

    var playoutGroup: SharedPlayout.Membership? { renderer.membership }

    /// Does as the platform asks in the playout-delay header extension: bounds of the waiting, or, where both are the same,
    /// one delay from capture at which all viewers show the same.
    private func follow(_ call: PeerConnectionStatistics) {
        guard let asked = call.playoutDelay else { return }
        if asked.minimum == asked.maximum, asked.minimum > .zero {
            renderer.synchronize(at: asked.minimum, clockOffset: call.senderClockOffset)
        } else {
            renderer.synchronize(at: nil, clockOffset: nil)
            // Nothing at least and nothing at most is for those who smooth without need: as it is here, by need.
            renderer.playoutBounds =
                asked.maximum == .zero
                ? PlayoutBounds() : PlayoutBounds(minimum: asked.minimum, maximum: asked.maximum)
        }
    }

    // MARK: Measuring

    private func measure() async -> ViewerStatistics {
        var result = ViewerStatistics(renderer.statistics())
        guard let media, let call = await media.call.statistics() else { return result }
        follow(call)
        result.playoutGroup = renderer.membership?.rawValue
        result.add(call)
        result.bitrate = state.withLock { state in
            state.rate.read(bytes: call.bytesReceived, at: MonotonicClock.now())
            return state.rate.bitsPerSecond
        }
        return result
    }

    /// Puts what was decoded and shown beside what arrived of it.
    func report(into stats: inout RTCInboundRTPStreamStats) {
        let summary = renderer.summary()
        stats.framesDecoded = summary.framesDecoded
        stats.framesRendered = summary.framesRendered
        stats.framesDropped = summary.framesDropped
        stats.freezeCount = summary.freezeCount
        stats.totalFreezesDuration = summary.freezeDuration.seconds
        if let size = lastFrame?.dimensions {
            stats.frameWidth = size.width
            stats.frameHeight = size.height
        }
    }

    func summary() async -> ViewerStatistics {
        var result = ViewerStatistics(renderer.summary())
        guard let media, let call = await media.call.statistics() else { return result }
        result.add(call)
        result.bitrate = media.meanBitrate(of: call.bytesReceived)
        return result
    }
}
