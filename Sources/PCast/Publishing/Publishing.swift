import PCastCore
import PCastDevices
import PCastIO
import PCastRTP
import PCastWebRTC
import Synchronization

/// The pipeline of a published stream: source thread, short queue, encoder thread, event loop of the call. Encoding
/// begins with a key frame when the call is connected.
final class Publishing: Sendable {
    private struct State {
        var sinkID: Int?
        var rate = RateMeter()
        var sampler: Task<Void, Never>?
        /// The types of media without subscribers, as the platform reports.
        var pausedTypes: Set<MediaType> = []
        var estimate: BandwidthEstimate?
        /// The demanded bit rate that the call last received.
        var demandedBitrate: Bitrate?
    }

    let call: MediaCall
    let lifecycle: StreamLifecycle
    let limits: BandwidthLimits
    let statistics = EventBroadcaster<PublisherStatistics>()
    /// The changes of `hasSubscribers`.
    let watched = EventBroadcaster<Bool>()
    /// The capture time of the first frame.
    let start = StreamStart()

    private let media: any PublishedMedia
    private let video: LayeredEncoding?
    private let audio: AudioEncoding?
    private let audioBitrate: Bitrate?
    private let state = Mutex(State())

    /// Creates the pipeline of a stream. Throws an error if an option is invalid, or if no call can be made.
    init(
        _ media: any PublishedMedia, of stream: MediaStream, options: PublishOptions, at platform: PlatformAddress
    ) throws(PCastError) {
        guard options.videoCodec.mediaType == .video else {
            throw PCastError(
                .badRequest, .usage, "\(options.videoCodec.rawValue) is not a video codec: use h264 or vp8")
        }
        let layers = options.layers ?? 1
        guard (1...3).contains(layers) else {
            throw PCastError(.badRequest, .usage, "\(layers) layers are not supported: use 1, 2 or 3")
        }
        let lifecycle = StreamLifecycle(.publisher)
        let limits = BandwidthLimits()
        let estimates = LatestValue<BandwidthEstimate>()
        let call = try MediaCall(
            .publish(
                video: media.videoRate == nil ? nil : options.videoCodec, audio: media.hasAudio, layers: layers),
            at: platform,
            estimated: { estimates.set($0) }, received: { _ in })
        video = media.videoRate.map { rate in
            LayeredEncoding(
                layers: layers, options: options, frameRate: rate, limits: limits,
                keyFrameNeeded: { [weak media] in media?.requestKeyFrame() },
                encoded: { call.send($0, layer: $1) },
                failed: { lifecycle.end(StreamEndedInfo(ender: .source, reason: .failed, reasonDescription: $0)) })
        }
        audio = media.audioChannels.map { channels in
            AudioEncoding(
                channels: channels, bitrate: options.audioBitrate, encoded: { call.send($0) },
                failed: { lifecycle.end(StreamEndedInfo(ender: .source, reason: .failed, reasonDescription: $0)) })
        }
        audioBitrate = media.hasAudio ? options.audioBitrate : nil
        self.media = media
        self.call = call
        self.lifecycle = lifecycle
        self.limits = limits
        estimates.follow { [weak self] in self?.divide($0) }
        lifecycle.whenEnded { [self] _ in stop() }
        media.lifecycle.whenEnded { [weak lifecycle] in lifecycle?.end($0) }
        Task { [weak self] in
            for await event in call.events { self?.follow(event, from: stream) }
        }
        lifecycle.watch(call) { [weak self] call in
            if let self { call.setPublisherReport(self.report(of: stream)) }
        }
    }

    /// Returns the report of media that is withheld on purpose, so that the platform does not attribute its absence to
    /// the network.
    private func report(of stream: MediaStream) -> PublisherReport {
        let estimate = estimate
        let demandedBitrate = state.withLock { $0.demandedBitrate }
        return PublisherReport(
            isVideoWithheld: !stream.passes(.video), isAudioWithheld: !stream.passes(.audio),
            isVideoCut: stream.passes(.video) && video?.isCut == true, wanted: demandedBitrate,
            estimate: estimate.flatMap { $0.isLimited ? $0.target : demandedBitrate })
    }

    /// Processes a change of the call.
    private func follow(_ event: MediaCall.Event, from stream: MediaStream) {
        switch event {
        case .connected:
            if state.withLock({ $0.sinkID }) == nil { begin(stream) } else { resumeAfterReconnection() }
            lifecycle.follow(event)
        case .keyFrameRequested: requestKeyFrame()
        case .paused(let type): setPaused(true, type)
        case .resumed(let type): setPaused(false, type)
        case .layerNeedsKeyFrame(let layer): requestKeyFrame(layer: layer)
        case .layerPaused(let layer): setPaused(true, layer: layer)
        case .layerResumed(let layer): setPaused(false, layer: layer)
        default: lifecycle.follow(event)
        }
    }

    /// Starts the encoders and the source. The stream ends if that fails.
    private func begin(_ stream: MediaStream) {
        do throws(PCastError) {
            // Media that the platform has declined, e.g. because of the token, is not encoded.
            let sent = call.sentTypes
            let (video, audio) = (sent.contains(.video) ? video : nil, sent.contains(.audio) ? audio : nil)
            try video?.start(layers: call.sentLayers)
            try audio?.start()
            let sinkID = try media.add { [call, start] frame in
                start.note(frame)
                switch frame {
                case .video(let sample) where stream.passes(.video): video?.push(sample)
                case .video(let sample): video?.dropFrame(sample)
                case .audio(let audioFrame): if stream.passes(.audio) { audio?.push(audioFrame) }
                case .codedAudio(let packet): if stream.passes(.audio) { call.send(packet) }
                }
            }
            state.withLock { $0.sinkID = sinkID }
            media.setDemand(sinkID, hasSubscribers)
            sample()
        } catch {
            lifecycle.end(StreamEndedInfo(ender: .source, reason: .failed, reasonDescription: error.description))
        }
    }

    /// Resumes after a reconnection. The new connection has none of the old one's state.
    private func resumeAfterReconnection() {
        let pausedTypes = state.withLock { state in
            state.demandedBitrate = nil
            return state.pausedTypes
        }
        for layer in 0..<call.sentLayers { _ = video?.setPaused(false, layer: layer) }
        for type in pausedTypes { setPaused(false, type) }
        reportDemandedBitrate()
        requestKeyFrame()
    }

    /// Requests a key frame from the encoder and from a source that encodes its frames itself. `layer` is nil for all
    /// layers.
    private func requestKeyFrame(layer: Int? = nil) {
        video?.requestKeyFrame(layer: layer)
        media.requestKeyFrame()
    }

    // MARK: Bandwidth

    /// The estimate of the available bandwidth; nil before the call is connected.
    var estimate: BandwidthEstimate? { state.withLock { $0.estimate } }

    /// Divides the available bandwidth between the encoders. It runs on the loop's thread.
    private func divide(_ estimate: BandwidthEstimate) {
        state.withLock { $0.estimate = estimate }
        video?.divide(estimate.target, audio: audioBitrate)
    }

    /// Reports the demanded bit rate to the call, if it has changed.
    private func reportDemandedBitrate() {
        // Limits, layers and dimensions may change without a new estimate.
        if let estimate { divide(estimate) }
        guard let total = video?.total(audio: audioBitrate) else { return }
        let isNew = state.withLock { state in
            defer { state.demandedBitrate = total }
            return state.demandedBitrate != total
        }
        if isNew { call.setDemanded(total) }
    }

    // MARK: Pauses

    /// Whether the stream has subscribers, as far as the platform reports.
    var hasSubscribers: Bool { hasSubscribers(pausedTypes: state.withLock { $0.pausedTypes }) }

    private func hasSubscribers(pausedTypes: Set<MediaType>) -> Bool {
        pausedTypes.isEmpty || !call.sentTypes.isSubset(of: pausedTypes)
    }

    /// Pauses or resumes a layer.
    private func setPaused(_ isPaused: Bool, layer: Int) {
        guard let video else { return }
        let areAllPaused = video.setPaused(isPaused, layer: layer)
        if !isPaused { requestKeyFrame(layer: layer) }
        reportDemandedBitrate()
        notePaused(areAllPaused, .video)
    }

    /// Pauses or resumes a type of media.
    private func setPaused(_ isPaused: Bool, _ type: MediaType) {
        switch type {
        case .video: video?.setPaused(isPaused)
        case .audio: audio?.setPaused(isPaused)
        }
        notePaused(isPaused, type)
        if !isPaused { requestKeyFrame() }
    }

    /// Records a pause, and notifies the source and the listeners if `hasSubscribers` has changed.
    private func notePaused(_ isPaused: Bool, _ type: MediaType) {
        let (before, after, sinkID) = state.withLock { state in
            let before = state.pausedTypes
            if isPaused { state.pausedTypes.insert(type) } else { state.pausedTypes.remove(type) }
            return (before, state.pausedTypes, state.sinkID)
        }
        let hasSubscribers = hasSubscribers(pausedTypes: after)
        guard hasSubscribers != self.hasSubscribers(pausedTypes: before) else { return }
        if let sinkID { media.setDemand(sinkID, hasSubscribers) }
        watched.send(hasSubscribers)
    }

    /// Ends the pipeline and closes the call.
    private func stop() {
        let (sinkID, sampler) = state.withLock { ($0.sinkID, $0.sampler) }
        if let sinkID { media.remove(sinkID) }
        sampler?.cancel()
        video?.stop()
        audio?.stop()
        call.close()
        statistics.finish()
        watched.finish()
        start.end()
    }

    // MARK: Statistics

    /// Begins to emit statistics each second.
    private func sample() {
        let sampler = Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(1)) } catch { return }
                guard let self else { return }
                self.statistics.send(await self.measure())
            }
        }
        state.withLock { state in
            state.rate.read(bytes: 0, at: MonotonicClock.now())
            state.sampler = sampler
        }
        if lifecycle.endedInfo != nil { sampler.cancel() }
    }

    /// Returns the statistics of the W3C (webrtc-stats).
    func stats() async -> RTCStatsReport {
        var report = await call.stats()
        var layer = 0
        for index in report.outbound.indices {
            let kind = report.outbound[index].kind
            var source = RTCMediaSourceStats(
                id: "S\(kind.rawValue)", timestamp: report.outbound[index].timestamp, kind: kind,
                trackIdentifier: media.deviceName(kind) ?? kind.rawValue)
            if kind == .video {
                video?.report(layer: layer, into: &report.outbound[index])
                layer += 1
                source.frames = video?.framesCaptured
                source.width = media.dimensions?.width
                source.height = media.dimensions?.height
            }
            report.outbound[index].mediaSourceId = source.id
            if !report.mediaSources.contains(where: { $0.id == source.id }) { report.mediaSources.append(source) }
        }
        return report
    }

    /// Returns the counters since the beginning and the rates of the last second.
    func measure() async -> PublisherStatistics {
        var result = PublisherStatistics()
        result.hasSubscribers = hasSubscribers
        if let video { video.report(into: &result) }
        reportDemandedBitrate()
        guard let call = await call.statistics() else { return result }
        if let loss = call.audioLoss { audio?.setExpectedLoss(loss) }
        result.packetsSent = call.packetsSent
        result.packetsRetransmitted = call.packetsRetransmitted
        result.roundTripTime = call.roundTrip?.duration
        result.bitrate = state.withLock { state in
            state.rate.read(bytes: call.bytesSent, at: MonotonicClock.now())
            return state.rate.bitsPerSecond
        }
        return result
    }
}
