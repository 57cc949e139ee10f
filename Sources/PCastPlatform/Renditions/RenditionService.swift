import Logging
import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// Makes renditions of streams in processes, while viewers need them.
///
/// Events of streams and of processes are queued and processed one after another, so that each change is complete before
/// the next one begins.
final class RenditionService: Sendable {
    /// The capability of publishers whose streams have renditions, as at Phenix.
    static let capability = "multi-bitrate"
    private static let tickInterval = Duration.milliseconds(250)

    /// Something that happened.
    private enum Event: Sendable {
        case began(StreamID, PeerID)
        case ended(PeerID)
        case wanted(PeerID, layers: UInt8)
        case keyFramesWanted(PeerID, layers: UInt8)
        case processEnded(PeerID, number: Int)
        case tick
    }

    private struct Running: Sendable {
        let process: RenditionProcess
        let codec: Codec
    }

    private struct State {
        var plan: RenditionPlan
        var streams: [PeerID: StreamID] = [:]
        var running: [PeerID: Running] = [:]
        /// The number of the current start of each process, also of one that cannot be started.
        var numbers: [PeerID: Int] = [:]
        var startCount = 0
        var failureCount = 0
        /// The processor time of processes that have ended, in seconds.
        var formerProcessorTime = 0.0
    }

    private let router: MediaRouter
    private let configuration: RenditionConfiguration
    private let program: String
    private let logger: Logger
    private let state: Mutex<State>
    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    /// Creates a service. Returns nil if the configuration makes no renditions.
    init?(router: MediaRouter, configuration: RenditionConfiguration, logger: Logger) {
        guard let program = configuration.program, configuration.streams != .off, configuration.maximumProcesses > 0
        else { return nil }
        self.router = router
        self.configuration = configuration
        self.program = program
        self.logger = logger
        state = Mutex(State(plan: RenditionPlan(maximumProcesses: configuration.maximumProcesses)))
        (events, continuation) = AsyncStream<Event>.makeStream()
    }

    /// Returns whether the stream of a publisher with these capabilities has renditions.
    func applies(to capabilities: [String]) -> Bool {
        configuration.streams == .all || capabilities.contains(Self.capability)
    }

    /// The numbers of processes now, of refusals and of failed processes since the start, and the processor time of all
    /// processes in seconds.
    var counts: (processes: Int, refusals: Int, failures: Int, processorTime: Double) {
        let (plan, processes, failures, formerTime) = state.withLock { state in
            (state.plan, state.running.values.map(\.process), state.failureCount, state.formerProcessorTime)
        }
        let time = processes.reduce(formerTime) { $0 + Self.processorTime(of: $1) }
        return (plan.processCount, plan.refusalCount, failures, time)
    }

    private static func processorTime(of process: RenditionProcess) -> Double {
        process.processID.flatMap { ProcessMetrics.read(process: "\($0)") }?.processorTime ?? 0
    }

    // MARK: Events of streams

    /// Adds a stream whose first packet has arrived.
    func begin(_ stream: LiveStream) {
        guard applies(to: stream.capabilities) else { return }
        continuation.yield(.began(stream.id, stream.peer))
    }

    /// Removes the stream of a publisher that has left. It does nothing for other peers.
    func end(_ peer: PeerID) {
        guard state.withLock({ $0.streams[peer] }) != nil else { return }
        continuation.yield(.ended(peer))
    }

    /// Updates the renditions that viewers of a publisher want, which are bits.
    func want(_ layers: UInt8, of peer: PeerID) { continuation.yield(.wanted(peer, layers: layers)) }

    /// Requests key frames of renditions, which are bits.
    func requestKeyFrames(_ layers: UInt8, of peer: PeerID) {
        continuation.yield(.keyFramesWanted(peer, layers: layers))
    }

    // MARK: Processing

    /// Processes events until the task is cancelled. All processes have ended then.
    func run() async {
        let clock = Task { [continuation] in
            while (try? await Task.sleep(for: Self.tickInterval)) != nil { continuation.yield(.tick) }
        }
        await withTaskCancellationHandler {
            for await event in events { await process(event) }
        } onCancel: { [continuation] in
            clock.cancel()
            continuation.finish()
        }
        for running in state.withLock({ $0.running.values }) { running.process.close() }
    }

    private func process(_ event: Event) async {
        let now = MonotonicClock.now()
        let actions: [RenditionPlan.Action]
        switch event {
        case .began(let stream, let peer):
            actions = state.withLock { state in
                state.streams[peer] = stream
                return state.plan.begin(peer)
            }
        case .ended(let peer): actions = state.withLock { $0.plan.end(peer) }
        case .wanted(let peer, let layers): actions = state.withLock { $0.plan.want(layers, of: peer, at: now) }
        case .keyFramesWanted(let peer, let layers):
            state.withLock({ $0.running[peer] })?.process.requestKeyFrames(layers)
            return
        case .processEnded(let peer, let number): actions = processEnded(peer, number, at: now)
        case .tick: actions = state.withLock { $0.plan.advance(to: now) }
        }
        for action in actions { await perform(action) }
        if case .ended(let peer) = event { state.withLock { $0.streams[peer] = nil } }
    }

    private func perform(_ action: RenditionPlan.Action) async {
        switch action {
        case .offer(let peer, let isOffered): router.offerRenditions(isOffered, of: peer)
        case .start(let peer, let layers): await start(peer, layers: layers)
        case .change(let peer, let layers):
            guard let running = state.withLock({ $0.running[peer] }) else { return }
            running.process.send(Self.targets(layers), codec: running.codec)
        case .stop(let peer): stop(peer)
        case .report(let peer, let reason): report(reason, of: peer)
        }
    }

    /// Returns the renditions of layers, which are bits. The publisher's layer is the first one.
    static func targets(_ layers: UInt8) -> [RenditionMessage.Target] {
        Rendition.all.enumerated().compactMap { index, rendition in
            let layer = UInt8(index + 1)
            guard layers & 1 << layer != 0 else { return nil }
            return .init(layer: layer, height: UInt16(rendition.height), bitrate: rendition.bitrate)
        }
    }

    private func start(_ peer: PeerID, layers: UInt8) async {
        guard let stream = state.withLock({ $0.streams[peer] }) else { return }
        let number = state.withLock { state in
            state.startCount += 1
            state.numbers[peer] = state.startCount
            return state.startCount
        }
        guard let feed = router.renditionFeed(of: peer),
            let codec = await router.videoCodec(of: stream, publisher: peer),
            let output = await router.renditionCodec(of: stream, publisher: peer)
        else {
            continuation.yield(.processEnded(peer, number: number))
            return
        }
        let process: RenditionProcess
        do throws(IOError) {
            process = try RenditionProcess(
                program, configuration.arguments, environment: JobEnvironment.make(),
                onFrame: { frame in
                    let encoded = EncodedFrame(
                        codec: output, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
                        timestamp: MediaTime(ticks: frame.timestamp, rate: .video), captureTime: frame.captureTime)
                    feed.send([.init(frame: encoded, layer: Int(frame.layer))])
                },
                onEnd: { [continuation] in continuation.yield(.processEnded(peer, number: number)) })
        } catch {
            logger.error("renditions cannot be made", metadata: ["stream": "\(stream)", "error": "\(error)"])
            continuation.yield(.processEnded(peer, number: number))
            return
        }
        state.withLock { $0.running[peer] = Running(process: process, codec: codec) }
        process.send(output: output)
        process.send(Self.targets(layers), codec: codec)
        router.renditionSources.set(process, of: stream)
        await router.beginReadingForRenditions(stream, of: peer)
        logger.info(
            "renditions are made",
            metadata: [
                "stream": "\(stream)", "codec": "\(output.rawValue)", "layers": "\(Self.names(layers))",
            ])
    }

    private static func names(_ layers: UInt8) -> String {
        Rendition.all.enumerated().filter { layers & 1 << UInt8($0.offset + 1) != 0 }.map(\.element.name)
            .joined(separator: " ")
    }

    /// Ends the process of a stream.
    private func stop(_ peer: PeerID) {
        let (running, stream) = state.withLock { state in
            state.numbers[peer] = nil
            return (state.running.removeValue(forKey: peer), state.streams[peer])
        }
        guard let running else { return }
        release(running, of: peer, stream)
        if let stream { logger.info("renditions are not needed any more", metadata: ["stream": "\(stream)"]) }
    }

    private func release(_ running: Running, of peer: PeerID, _ stream: StreamID?) {
        let time = Self.processorTime(of: running.process)
        state.withLock { $0.formerProcessorTime += time }
        running.process.close()
        guard let stream else { return }
        router.renditionSources.set(nil, of: stream)
        router.endReadingForRenditions(stream, of: peer)
    }

    /// Records that a process has ended. One that was stopped is not the current one any more.
    private func processEnded(_ peer: PeerID, _ number: Int, at now: Instant) -> [RenditionPlan.Action] {
        guard state.withLock({ $0.numbers[peer] }) == number else { return [] }
        let (running, stream) = state.withLock { state in
            state.numbers[peer] = nil
            state.failureCount += 1
            return (state.running.removeValue(forKey: peer), state.streams[peer])
        }
        if let running { release(running, of: peer, stream) }
        if let stream {
            logger.warning("the process that makes renditions has failed", metadata: ["stream": "\(stream)"])
        }
        return state.withLock { $0.plan.processEnded(peer, at: now) }
    }

    private func report(_ reason: RenditionPlan.Obstacle, of peer: PeerID) {
        let stream = state.withLock { $0.streams[peer] }.map { "\($0)" } ?? "unknown"
        switch reason {
        case .capacity:
            logger.warning(
                "no renditions for lack of capacity: all processes are in use; raise --max-renditions",
                metadata: ["stream": "\(stream)", "processes": "\(configuration.maximumProcesses)"])
        case .failure:
            logger.error(
                "no renditions: their process fails repeatedly; check the program and the stream's encoder",
                metadata: ["stream": "\(stream)"])
        }
    }
}
