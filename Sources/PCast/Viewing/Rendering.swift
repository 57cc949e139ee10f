import PCastCore
import PCastIO
import PCastRTP
import PCastRendering
import PCastWebRTC
import Synchronization

/// One run of a renderer. It pushes received media, or that of this machine's sources, to a `StreamRenderer`, and
/// measures each second.
final class Rendering: Sendable {
    struct State {
        /// Ends the input of media.
        var leave: (@Sendable () -> Void)?
        var sampler: Task<Void, Never>?
        /// Shows the captions of a stream without video.
        var captions: Task<Void, Never>?
        var rate = RateMeter()
        /// The playback of the window during a time shift; nil in real time.
        var shift: (any PlaylistPlayback)?
        /// The number of time shifts so far.
        var shiftCount = 0
        /// The number of frames that former time shifts dropped.
        var framesDropped = 0
        var isStopped = false
    }

    let stream: MediaStream
    /// The subscribed stream; nil for sources of this machine and for HLS.
    let media: RemoteMedia?
    /// The playback of a stream that is delivered by HLS; nil for other streams.
    let playback: (any PlaylistPlayback)?
    let renderer: StreamRenderer
    let state = Mutex(State())
    /// The lock of commands that begin, end or move a time shift. The threads of media do not wait for it.
    let commands = Mutex(())
    let caption: ObservableValue<String?>
    let timeShift: TimeShift
    /// Receives the audio and its presentation times; nil for none.
    let audioTap: (@Sendable (AudioFrame, Instant) -> Void)?

    /// Begins to render the stream. Throws an error if there is no thread or decoder, or if the source cannot start.
    init(
        _ stream: MediaStream, options: RendererOptions, first: Promise<Instant?>, sizes: EventBroadcaster<Dimensions>,
        caption: ObservableValue<String?>, timeShift: TimeShift,
        audioTap: (@Sendable (AudioFrame, Instant) -> Void)? = nil
    ) throws {
        (self.stream, self.caption, self.timeShift, self.audioTap) = (stream, caption, timeShift, audioTap)
        var rendering = StreamRendererOptions()
        rendering.measuresTestSignal = options.measuresTestSignal
        rendering.audioDevice = options.useNullAudioDevice ? nil : "default"
        var callbacks = RendererCallbacks(
            onFirstFrame: { first.resolve(MonotonicClock.now()) }, onDimensions: { sizes.send($0) }, onAudio: audioTap)
        switch stream.origin {
        case .remote(let media):
            rendering.synchronization = options.lipSync ? .lipSync : .immediate
            callbacks.onFrame = { [captions = media.lifecycle.captions] frame in
                // The window has its own captions.
                if timeShift.isDisplayed { return }
                caption.set(captions.text(at: frame.captureTime, now: MonotonicClock.now()))
            }
            (self.media, playback) = (media, nil)
            renderer = try Self.renderer(rendering, callbacks) { [call = media.call] in call.requestKeyFrame() }
            begin(media)
        case .local(let media):
            (self.media, playback) = (nil, nil)
            renderer = try Self.renderer(of: media, rendering, callbacks)
            let leave = try take(from: media, stream)
            state.withLock { $0.leave = leave }
        case .application(let media):
            (self.media, playback) = (nil, nil)
            renderer = try Self.renderer(of: media, rendering, callbacks)
            let leave = try take(from: media, stream)
            state.withLock { $0.leave = leave }
        case .playlist(let media):
            self.media = nil
            // The client plays the audio, and passes frames on when they are due.
            rendering.audioDevice = nil
            rendering.synchronization = .immediate
            renderer = try Self.renderer(rendering, callbacks) {}
            playback = try Self.play(
                media, stream, on: renderer, isSilent: options.useNullAudioDevice, caption, timeShift, audioTap)
        }
    }

    /// Returns the renderer of media of this machine. Throws an error if there is no thread or decoder.
    private static func renderer(
        of media: any PublishedMedia, _ options: StreamRendererOptions, _ callbacks: RendererCallbacks
    ) throws -> StreamRenderer {
        var options = options
        // The machine's own media has no network jitter to compensate.
        options.synchronization = .immediate
        return try renderer(options, callbacks) { [weak media] in media?.requestKeyFrame() }
    }

    /// Returns a renderer. Throws an error if there is no thread or decoder.
    private static func renderer(
        _ options: StreamRendererOptions, _ callbacks: RendererCallbacks,
        onKeyFrameNeeded: @escaping @Sendable () -> Void
    ) throws -> StreamRenderer {
        var callbacks = callbacks
        callbacks.onKeyFrameNeeded = onKeyFrameNeeded
        do {
            return try StreamRenderer(options: options, callbacks: callbacks)
        } catch {
            // The stream is shown without audio if there is no audio device.
            guard options.audioDevice != nil else { throw error }
            var silent = options
            silent.audioDevice = nil
            return try StreamRenderer(options: silent, callbacks: callbacks)
        }
    }

    /// Begins to play a stream that is delivered by HLS. Throws an error if the client cannot begin.
    private static func play(
        _ media: PlaylistMedia, _ stream: MediaStream, on renderer: StreamRenderer, isSilent: Bool,
        _ caption: ObservableValue<String?>, _ timeShift: TimeShift,
        _ audioTap: (@Sendable (AudioFrame, Instant) -> Void)?
    ) throws -> any PlaylistPlayback {
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        let lifecycle = media.lifecycle
        var outputs = PlaylistOutputs(
            playsAudio: !isSilent, isAudioEnabled: { tracks.audio?.isEnabled == true },
            onFrame: { [weak renderer] frame in
                if tracks.video?.isEnabled == true { renderer?.push(frame) }
            },
            onCaption: { caption.set($0) },
            onEnd: { failure in
                lifecycle.end(
                    failure.map {
                        StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: $0)
                    } ?? StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"))
            })
        outputs.audioTap = audioTap
        outputs.onLanded = { timeShift.landed(at: $0) }
        outputs.onPosition = { timeShift.moved(to: $0) }
        do {
            return try media.client.play(media.uri, nil, outputs)
        } catch {
            renderer.stop()
            throw error
        }
    }

    /// Whether an audio device plays the audio.
    var isAudioPlayed: Bool { playback?.isAudioPlayed ?? (renderer.audioOutputStatistics != nil) }

    /// Begins the input of a subscribed stream in real time, and its captions if it has no video.
    func begin(_ media: RemoteMedia) {
        let leave = take(from: media, stream)
        let captions = stream.videoTracks.isEmpty ? media.lifecycle.captions.follow(caption) : nil
        state.withLock { ($0.leave, $0.captions) = (leave, captions) }
    }

    /// Begins the input of a subscribed stream. Returns the function that ends it.
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

    /// Begins the input of this machine's media. Returns the function that ends it. Throws an error if the source
    /// cannot start.
    private func take(from media: any PublishedMedia, _ stream: MediaStream) throws(PCastError) -> @Sendable () -> Void
    {
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        let id = try media.add { [renderer] frame in
            switch frame {
            case .video(.frame(let videoFrame)): if tracks.video?.isEnabled == true { renderer.push(videoFrame) }
            case .video(.coded(let frame)): if tracks.video?.isEnabled == true { renderer.push(frame) }
            case .audio(let audio): if tracks.audio?.isEnabled == true { renderer.push(audio) }
            case .codedAudio(let frame): if tracks.audio?.isEnabled == true { renderer.push(frame) }
            }
        }
        media.setDemand(id, true)
        return { media.remove(id) }
    }

    /// Sends the statistics of each second until the run is stopped.
    func notify(_ listeners: EventBroadcaster<ViewerStatistics>) {
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

    /// Ends the input, presents the media that was received at its times, and ends the run. It waits for that. `stop()`
    /// ends it earlier.
    func finish() {
        commands.withLock { _ in endInput() }
        renderer.finish()
        stop()
    }

    /// Ends the run.
    func stop() {
        commands.withLock { _ in
            endInput()
            let (sampler, captions) = state.withLock { state in
                defer { (state.sampler, state.captions) = (nil, nil) }
                return (state.sampler, state.captions)
            }
            sampler?.cancel()
            captions?.cancel()
            renderer.stop()
        }
    }

    /// Ends the input of media for good.
    private func endInput() {
        let (leave, shift) = state.withLock { state in
            state.isStopped = true
            defer { state.leave = nil }
            return (state.leave, state.shift)
        }
        leave?()
        shift?.stop()
        playback?.stop()
    }

    var isMuted: Bool {
        get { playback?.isMuted ?? renderer.isMuted }
        set {
            renderer.isMuted = newValue
            playback?.isMuted = newValue
        }
    }

    var volume: Double {
        get { playback?.volume ?? renderer.volume }
        set {
            renderer.volume = newValue
            playback?.volume = newValue
        }
    }

    var surface: (any RenderSurface)? {
        get { renderer.surface }
        set { renderer.surface = newValue }
    }

    func setFrameReadyCallback(_ callback: FrameReadyCallback?) { renderer.setFrameReadyCallback(callback) }

    var lastFrame: VideoFrame? { renderer.lastFrame }

    /// Writes the last frame to a file and returns its dimensions; nil if there is no frame. Throws an error if the
    /// file cannot be written.
    func screenshot(to path: String) throws -> Dimensions? { try renderer.screenshot(to: path) }

    // MARK: Playout

    var playoutDelay: TimeSpan? { renderer.playoutDelay }

    var playoutDelayOverride: TimeSpan? {
        get { renderer.playoutDelayOverride }
        set { renderer.playoutDelayOverride = newValue }
    }

    var playoutGroup: SharedPlayout.Membership? { renderer.membership }

    /// Applies the bounds in the playout-delay header extension. If both bounds are equal, they are the delay from
    /// capture at which all viewers present the same frame.
    private func follow(_ call: PeerConnectionStatistics) {
        guard let playoutDelay = call.playoutDelay else { return }
        if playoutDelay.minimum == playoutDelay.maximum, playoutDelay.minimum > .zero {
            renderer.synchronize(at: playoutDelay.minimum, clockOffset: call.senderClockOffset)
        } else {
            renderer.synchronize(at: nil, clockOffset: nil)
            // Two bounds of zero are for receivers that would otherwise add delay without need. This one adds delay
            // only as needed.
            renderer.playoutBounds =
                playoutDelay.maximum == .zero
                ? PlayoutBounds() : PlayoutBounds(minimum: playoutDelay.minimum, maximum: playoutDelay.maximum)
        }
    }

    // MARK: Statistics

    /// Returns the statistics of the last second.
    private func measure() async -> ViewerStatistics {
        var result = ViewerStatistics(renderer.statistics())
        result.framesDropped += framesDroppedByHLS
        guard let media, let call = await media.call.statistics() else { return result }
        follow(call)
        result.playoutGroup = renderer.membership.flatMap { PlayoutGroup(rawValue: $0.rawValue) }
        result.add(call)
        result.bitrate = state.withLock { state in
            state.rate.read(bytes: call.bytesReceived, at: MonotonicClock.now())
            return state.rate.bitsPerSecond
        }
        return result
    }

    /// The number of frames that HLS clients dropped because they were late.
    private var framesDroppedByHLS: Int { state.withLock { $0.framesDropped } + (shifted?.framesDropped ?? 0) }

    /// Adds the statistics of decoded and shown frames to those of the received stream.
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

    /// Returns the statistics of the whole run.
    func summary() async -> ViewerStatistics {
        var result = ViewerStatistics(renderer.summary())
        result.framesDropped += framesDroppedByHLS
        guard let media, let call = await media.call.statistics() else { return result }
        result.add(call)
        result.bitrate = media.meanBitrate(of: call.bytesReceived)
        return result
    }
}
