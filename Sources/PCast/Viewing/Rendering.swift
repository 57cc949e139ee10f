import PCastIO
import PCastMedia
import PCastRTP
import PCastRendering
import PCastWebRTC
import Synchronization

/// One run of a renderer: what arrives goes into a ``StreamRenderer``, and each second it is measured.
final class Rendering: Sendable {
    private struct State {
        var taking: Int?
        var sampler: Task<Void, Never>?
        var rate = RateMeter()
    }

    private let media: RemoteMedia
    private let renderer: StreamRenderer
    private let state = Mutex(State())

    init(
        _ media: RemoteMedia, of stream: MediaStream, options: RendererOptions, first: Once<Instant?>,
        sizes: Broadcast<Dimensions>
    ) throws {
        self.media = media
        var rendering = PCastRendering.RendererOptions()
        rendering.synchronization = options.lipSync ? .lipSync : .immediate
        rendering.measuresTestSignal = options.measuresTestSignal
        rendering.loudspeaker = options.useNullAudioDevice ? nil : "default"
        let renderer = try StreamRenderer(
            options: rendering,
            callbacks: RendererCallbacks(
                onFirstFrame: { first.settle(MonotonicClock.now()) }, onDimensions: { sizes.send($0) },
                onKeyFrameNeeded: { [call = media.call] in call.requestKeyFrame() }))
        self.renderer = renderer
        let tracks = (video: stream.videoTracks.first, audio: stream.audioTracks.first)
        let taking = media.feed.add { media in
            switch media {
            case .frame(let frame, _):
                let track = frame.codec.mediaType == .video ? tracks.video : tracks.audio
                if track?.isEnabled == true { renderer.push(frame) }
            case .gap(let gap): if tracks.audio?.isEnabled == true { renderer.concealAudio(gap.duration) }
            }
        }
        state.withLock { $0.taking = taking }
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
        let (taking, sampler) = state.withLock { state in
            defer { (state.taking, state.sampler) = (nil, nil) }
            return (state.taking, state.sampler)
        }
        if let taking { media.feed.remove(taking) }
        sampler?.cancel()
        renderer.stop()
    }

    var isMuted: Bool {
        get { renderer.isMuted }
        set { renderer.isMuted = newValue }
    }

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
        guard let call = await media.call.statistics() else { return result }
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
        guard let call = await media.call.statistics() else { return result }
        result.add(call)
        result.bitrate = media.meanBitrate(of: call.bytesReceived)
        return result
    }
}
