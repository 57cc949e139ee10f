import PCastCodecs
import PCastCore
import PCastDevices
package import PCastIO
import PCastRendering
import PCastWebRTC
import Synchronization

/// The job of a process that a platform has started for one stream. It pulls an address and publishes it, or views a
/// stream and pushes it to an address.
///
/// The process must not be used for anything else afterwards, because it has opened untrusted media.
package struct StreamJob: Sendable {
    private let order: IngestJob
    private let report: @Sendable (JobReport) -> Void
    private let isRunning: Flag

    /// Creates a job, which begins with ``run()``.
    ///
    /// - Parameters:
    ///   - order: The job's description.
    ///   - report: A function that receives reports. The last one is `ended`.
    package init(_ order: IngestJob, report: @escaping @Sendable (JobReport) -> Void) {
        self.order = order
        let isRunning = Flag()
        self.isRunning = isRunning
        self.report = { jobReport in
            if jobReport == .running { isRunning.set() }
            report(jobReport)
        }
    }

    /// The time for which the platform's end of a stream is awaited after the end was reported.
    private static let timeout = Duration.seconds(2)

    /// Runs the job until the stream has ended.
    package func run() async {
        report(.opening)
        let policy: OutboundPolicy
        do throws(PCastError) {
            policy = try OutboundPolicy.open(order, refused: refuse)
        } catch {
            return report(.ended(reason: setupFailure, description: "\(error)"))
        }
        let pcast = PCast(PCastOptions(uri: order.platform))
        do throws(PCastError) {
            switch order.kind {
            case .publish: try await publish(policy, by: pcast)
            case .egress: try await push(to: policy, by: pcast)
            }
        } catch {
            report(.ended(reason: setupFailure, description: policy.redacted("\(error)")))
        }
        await pcast.shutdown()
        withExtendedLifetime(policy) {}
    }

    /// A function that reports a refused connection. Before the job runs it ends the job; afterwards it is a note.
    private var refuse: @Sendable (String) -> Void {
        let (report, reason, isRunning) = (report, setupFailure, isRunning)
        return { why in
            report(isRunning.isSet ? .note("not connected: \(why)") : .ended(reason: reason, description: why))
        }
    }

    /// The end reason of a job that could not begin.
    private var setupFailure: String {
        order.kind == .egress ? "egress-setup-failed" : StreamEndedReason.failed.rawValue
    }

    // MARK: Publishing

    /// Publishes the address until it ends. Throws an error if that cannot begin.
    private func publish(_ policy: OutboundPolicy, by pcast: PCast) async throws(PCastError) {
        if policy.isListener { report(.listening) }
        if let endpoint = policy.endpoint { return try await publish(from: endpoint, policy, by: pcast) }
        let order = order
        let (media, codec) = try await DeviceThread.run { () throws(DeviceError) -> (UserMediaStream, Codec) in
            if policy.isStillImage {
                let image = SourceInputs(image: try StillImageSource(policy.uri, name: policy.name))
                return (UserMediaStream(LocalMedia(image)), .h264)
            }
            let source = try URISource(
                anythingOf: policy.uri, skipping: .milliseconds(Int64(order.skippedMilliseconds)),
                passesThrough: order.maximumFrameRate == nil, codecs: order.passesH265 ? [.h264, .h265] : [.h264],
                isLooping: order.isLooping)
            let inputs = try SourceInputs(opened: source) { frames in
                order.maximumFrameRate.map { DecimatedVideoSource(frames, rate: $0) } ?? frames
            }
            return (UserMediaStream(LocalMedia(inputs)), source.passedCodec ?? .h264)
        }
        defer { media.stop() }
        _ = try await pcast.start(authenticationToken: order.credential)
        var options = PublishOptions()
        options.videoCodec = codec
        let publisher = try await pcast.publish(
            streamToken: order.credential, mediaStream: media.mediaStream, options: options)
        await follow(publisher, policy)
    }

    /// Publishes the stream of a WHEP endpoint until it ends. Throws an error if that cannot begin.
    private func publish(
        from endpoint: WebRTCHTTPEndpoint, _ policy: OutboundPolicy, by pcast: PCast
    ) async throws(PCastError) {
        let stream = try await pcast.subscribe(to: endpoint)
        _ = try await pcast.start(authenticationToken: order.credential)
        var options = PublishOptions()
        // The frames are forwarded as they are.
        options.videoCodec = stream.codecs.first { $0.mediaType == .video } ?? .h264
        let publisher = try await pcast.publish(
            streamToken: order.credential, mediaStream: stream, options: options)
        await follow(publisher, policy)
    }

    /// Reports the end of the published stream.
    private func follow(_ publisher: Publisher, _ policy: OutboundPolicy) async {
        report(.running)
        let info = await publisher.ended
        report(
            .ended(
                reason: info.reason == .custom ? info.reasonDescription : info.reason.rawValue,
                description: policy.redacted(info.reasonDescription)))
    }

    // MARK: Pushing

    /// Pushes the stream to the address until it ends. Throws an error if that cannot begin.
    private func push(to policy: OutboundPolicy, by pcast: PCast) async throws(PCastError) {
        _ = try await pcast.start(authenticationToken: order.credential)
        let stream = try await pcast.subscribe(
            streamToken: order.credential, streamID: order.stream.map { StreamID($0) })
        if let endpoint = policy.endpoint { return try await push(stream, to: endpoint, policy, by: pcast) }
        guard let format = policy.pushFormat else { return try await record(stream, to: policy) }
        let failed = Promise<JobReport>()
        let pushing = try EgressJob(of: stream, to: policy, format: format) { [report] state in
            switch state {
            case .running: report(.running)
            case .failed(let why, let wasRunning):
                failed.resolve(
                    .ended(
                        reason: wasRunning ? "egress-failed" : "egress-setup-failed",
                        description: policy.redacted(why)))
            case .connecting, .finished: break
            }
        }
        stream.lifecycle.whenEnded { info in failed.resolve(Self.end(info)) }
        report(await failed.settled)
        await awaitEnd(of: stream)
        pushing.stop()
    }

    /// Pushes the stream to a WHIP endpoint until it ends. Throws an error if that cannot begin.
    private func push(
        _ stream: MediaStream, to endpoint: WebRTCHTTPEndpoint, _ policy: OutboundPolicy, by pcast: PCast
    ) async throws(PCastError) {
        let ended = Promise<JobReport>()
        // The end of the stream is also the end of its publication, and precedes it here.
        stream.lifecycle.whenEnded { info in ended.resolve(Self.end(info)) }
        var options = PublishOptions()
        options.videoCodec = stream.codecs.first { $0.mediaType == .video } ?? .h264
        let publisher = try await pcast.publish(to: endpoint, stream, options)
        publisher.whenEnded { info in
            ended.resolve(.ended(reason: "egress-failed", description: policy.redacted(info.reasonDescription)))
        }
        report(.running)
        report(await ended.settled)
        await awaitEnd(of: stream)
        publisher.stop()
        _ = await publisher.ended
    }

    /// Waits until the platform ends the stream with the reported reason. An end by this process would have the reason
    /// `ended`.
    private func awaitEnd(of stream: MediaStream) async {
        let limit = Task {
            try await Task.sleep(for: Self.timeout)
            stream.stop()
        }
        _ = await stream.ended
        limit.cancel()
    }

    /// Records the stream to the file until it ends. Throws an error if that cannot begin.
    private func record(_ stream: MediaStream, to policy: OutboundPolicy) async throws(PCastError) {
        let recording = try stream.record(to: policy.uri, named: policy.fileName)
        report(.running)
        let info = await stream.ended
        recording.stop()
        if let failure = recording.failure {
            report(.ended(reason: "egress-failed", description: policy.redacted(failure)))
        } else {
            report(Self.end(info))
        }
    }

    /// Returns the report of a stream's end.
    private static func end(_ info: StreamEndedInfo) -> JobReport {
        .ended(
            reason: info.reason == .custom ? info.reasonDescription : info.reason.rawValue,
            description: info.reasonDescription)
    }
}

/// A flag that is set once.
private final class Flag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .relaxed) }

    func set() { state.store(true, ordering: .relaxed) }
}

/// A video source that drops frames evenly to reduce the frame rate.
final class DecimatedVideoSource: VideoSource {
    private let source: any VideoSource
    private let rate: Double
    private let decimation = Mutex(FrameDecimation())

    init(_ source: any VideoSource, rate: Double) {
        self.source = source
        self.rate = rate
    }

    var dimensions: Dimensions { source.dimensions }

    var nominalFrameRate: Double { min(source.nominalFrameRate, rate) }

    var transcodeReason: TranscodeReason? { source.transcodeReason }

    func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let share = rate / max(source.nominalFrameRate, 1)
        try source.start(
            deliver: { [self] sample in
                if decimation.withLock({ $0.keepsFrame(share) }) { deliver(sample) }
            }, ended: ended)
    }

    func stop() { source.stop() }
}

/// The interval of key frames in a pushed stream. Encoders of WebRTC make them on request only, but a server that receives
/// the push cannot request any. It needs them for its own viewers and segments.
struct KeyFrameInterval: Hashable, Sendable {
    /// The time after which a key frame is requested.
    static let longest = TimeSpan.seconds(2 as Int64)

    /// The arrival of the last key frame, or the time of the last request; nil before the first key frame.
    private var last: Instant?

    /// Records a frame. Returns whether a key frame must be requested.
    mutating func observe(_ frame: EncodedFrame, at arrival: Instant) -> Bool {
        guard frame.codec.mediaType == .video else { return false }
        if frame.isKeyFrame {
            last = arrival
            return false
        }
        guard let last, arrival - last >= Self.longest else { return false }
        self.last = arrival
        return true
    }
}

/// A subscribed stream that is pushed to an address.
final class EgressJob: Sendable {
    private let media: RemoteMedia
    private let pusher: StreamPusher
    private let sinkID: Int

    /// Begins to push a stream. `changed` receives the states of the push. Throws an error if the stream is not
    /// subscribed, or if the push cannot be set up.
    init(
        of stream: MediaStream, to policy: OutboundPolicy, format: String,
        changed: @escaping @Sendable (StreamPusher.State) -> Void
    ) throws(PCastError) {
        guard case .remote(let media) = stream.origin else {
            throw PCastError(.badRequest, .usage, "only a subscribed stream in real time can be pushed")
        }
        do {
            pusher = try StreamPusher(
                uri: policy.uri, name: policy.name, format: format, tracks: stream.codecs, changed: changed)
        } catch {
            throw PCastError(.failed, .media, "\(error)")
        }
        self.media = media
        let keyFrames = Mutex(KeyFrameInterval())
        sinkID = media.feed.add { [pusher, call = media.call] media in
            guard case .frame(let frame, let arrival) = media else { return }
            pusher.push(frame, arrivedAt: arrival)
            if keyFrames.withLock({ $0.observe(frame, at: arrival) }) { call.requestKeyFrame() }
        }
        // The pusher waits for a key frame before it sends anything.
        media.call.requestKeyFrame()
    }

    /// Sends the frames that wait, and returns when they are sent.
    func stop() {
        media.feed.remove(sinkID)
        pusher.finish()
    }
}
