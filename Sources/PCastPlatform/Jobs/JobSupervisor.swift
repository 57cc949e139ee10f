import Dispatch
import Glibc
import Logging
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling

/// The ingest and egress jobs. Each has its own process, which opens the external media, and publishes or subscribes by
/// the signaling protocol like other clients. External media is never processed in this process.
///
/// A stream ends with its process and is not restarted under the same identifier. The backend and the subscribers are
/// notified, and the client decides what to do (`docs/URIS.md`). The jobs of declared streams are started again by
/// ``NamedStreamService``.
actor JobSupervisor {
    private var limiter: JobPolicy?
    private let authenticator: TokenAuthenticator
    private let directory: StreamDirectory
    private let registry: SessionRegistry
    private let logger: Logger
    private var runs: [StreamID: JobProcess] = [:]
    private var platform: String?
    /// The number of requests whose host is being resolved. They count towards the limit of jobs, because each resolution
    /// blocks a thread.
    private var resolving = 0
    private var starts = JobStartQueue()
    private var isStopping = false
    private var watch: Task<Void, Never>?

    /// The time in which a process must end after a request.
    private static let endTimeout = Duration.seconds(3)
    private static let watchInterval = Duration.seconds(5)
    private static let longestNote = 400
    /// The maximum number of lines of a process that wait to be processed. Then the process waits, too.
    private static let waitingLines = 256

    /// Creates the jobs. If `limiter` is nil, all jobs are rejected.
    init(
        _ limiter: JobPolicy?, authenticator: TokenAuthenticator, directory: StreamDirectory,
        registry: SessionRegistry,
        logger: Logger
    ) {
        self.limiter = limiter
        self.authenticator = authenticator
        self.directory = directory
        self.registry = registry
        self.logger = logger
    }

    /// Sets the URI at which processes reach the platform, when it listens.
    func listens(at uri: String) { platform = uri }

    /// Changes the policy of new jobs. Running ones continue.
    func change(_ limiter: JobPolicy?) { self.limiter = limiter }

    /// The number of jobs.
    var count: Int { runs.count }

    // MARK: Starting

    /// Starts a job. Returns the identifier of the stream when media flows, or when the process listens for an encoder.
    ///
    /// - Throws: ``APIError``.
    func start(_ request: JobRequest) async throws(APIError) -> StreamID {
        let purpose = try await authorize(request)
        let options = try StreamURIOptions(request.message.connectOptions, options: request.message.options)
        let kind: IngestJob.Kind = purpose == .publish ? .publish : .egress
        if !options.unknown.isEmpty {
            logger.warning("unknown connect options", metadata: ["options": "\(options.unknown)"])
        }
        let runner = IngestJobRunner(
            stream: StreamID(RandomIdentifier.make(prefix: kind == .publish ? "stream-" : "egress-")),
            purpose: purpose, tags: request.message.tags, session: request.session,
            address: request.clientContext.address,
            ended: { [weak self] end in await self?.streamEnded(end) })
        var order = IngestJob(kind: kind, uri: request.message.connectUri, platform: "", credential: "")
        order.stream = request.origin?.description
        order.maximumFrameRate = options.maximumFrameRate
        order.skippedMilliseconds = Int(options.skip.milliseconds)
        order.passesH265 = kind == .publish && StreamCapabilities.prefers(.h265, in: request.principal.capabilities)
        let (requestedAt, timeout) = (MonotonicClock.now(), limiter?.configuration.startTimeout ?? .zero)
        try await start(
            runner, order, of: request.principal, isDetached: options.isDetached,
            isWanted: { MonotonicClock.now() - requestedAt < timeout })
        watchSessions()
        let id = runner.stream
        guard await registry.began(id, in: request.session), let run = runs[id], !run.isOver else {
            await end(id, reason: .ended, description: "")
            await registry.discard(id, in: request.session)
            throw .ended
        }
        return id
    }

    /// Starts the job of a declared stream. Returns the identifier of its stream when media flows.
    ///
    /// - Throws: ``APIError``.
    func start(_ job: DeclaredJob) async throws(APIError) -> StreamID {
        let kind: IngestJob.Kind = job.role == nil ? .egress : .publish
        let runner = IngestJobRunner(
            stream: StreamID(RandomIdentifier.make(prefix: kind == .publish ? "stream-" : "egress-")),
            purpose: job.role == nil ? .egress(StreamID(job.name)) : .publish,
            tags: job.role == nil ? [] : [StreamTags.namePrefix + job.name], session: nil, address: nil,
            role: job.role, ended: { [weak self] end in await self?.streamEnded(end) })
        var order = IngestJob(kind: kind, uri: job.uri, platform: "", credential: "")
        order.stream = job.role == nil ? job.name : nil
        order.isLooping = job.isLooping
        order.passesH265 = job.passesH265
        try await start(
            runner, order, of: Principal(application: job.application, token: nil), isDetached: true,
            isWanted: job.isWanted, onEnd: job.onEnd)
        return runner.stream
    }

    /// Starts the process of a job when it is its turn, and waits until it runs. The time until its turn does not count
    /// towards the timeout of the start.
    ///
    /// - Throws: ``APIError``.
    private func start(
        _ runner: IngestJobRunner, _ order: IngestJob, of principal: Principal, isDetached: Bool,
        isWanted: @Sendable () async -> Bool, onEnd: (@Sendable (StreamEnd) async -> Void)? = nil
    ) async throws(APIError) {
        guard let limiter, let platform, !isStopping else {
            throw APIError(
                .unsupported,
                "Pulling and pushing streams is disabled on this platform: set --max-jobs of “pcast serve”.")
        }
        guard runs.count + resolving < limiter.configuration.limit else {
            throw APIError(.capacity, "The platform has reached its limit of ingest and egress jobs: retry later.")
        }
        resolving += 1
        let admitted: JobPolicy.Admitted
        do throws(APIError) {
            admitted = try await limiter.admit(order.uri, for: order.kind)
        } catch {
            resolving -= 1
            throw error
        }
        // The job is counted instead without a suspension in between.
        resolving -= 1
        let id = runner.stream
        var principal = principal
        principal.job = runner
        var order = order
        order.platform = platform
        order.credential = authenticator.workers.issue(principal)
        runs[id] = JobProcess(
            work: runner, credential: order.credential, application: principal.application, isDetached: isDetached,
            onEnd: onEnd)
        order.listen = admitted.listen?.description
        order.networks = limiter.configuration.networks.map(\.description)
        order.mediaPort = directory.router.rtcPort
        order.folder = limiter.configuration.directory
        guard await isNext(id) else { throw .ended }
        guard await isWanted(), runs[id] != nil, !isStopping else {
            runs[id]?.isOver = true
            dismiss(id, kill: true)
            throw APIError(.capacity, "Too many ingest and egress jobs start at the same time: retry later.")
        }
        logger.info(
            "worker started",
            metadata: ["stream": "\(id)", "kind": "\(order.kind.rawValue)", "uri": "\(admitted.uri)"])
        launch(id, order, limiter.configuration)
        guard await isRunning(id, within: limiter.configuration.startTimeout) else {
            throw await failure(of: id, admitted.uri)
        }
    }

    /// Checks the token of a job: for publishing with the capability `publish-uri`, or for subscribing to the stream
    /// with `egress`. Returns the purpose of the job.
    ///
    /// - Throws: ``APIError``.
    private func authorize(_ request: JobRequest) async throws(APIError) -> IngestJobRunner.Purpose {
        guard request.principal.token != nil, request.principal.job == nil else { throw .noToken }
        guard let origin = request.origin else {
            try authenticator.authorize(
                request.principal, for: .publish, clientContext: request.clientContext, capabilities: ["publish-uri"])
            try await authenticator.checkHook(.publish, request.principal, request.clientContext)
            return .publish
        }
        let live = await directory.live(origin, of: request.principal.application)
        let tags = live?.stream.authorizingTags ?? (request.principal.token?.requiredTag.map { [$0] } ?? [])
        try authenticator.authorize(
            request.principal, for: .subscribe(originStreamID: origin.description, tags: tags),
            clientContext: request.clientContext,
            capabilities: ["egress"])
        guard live != nil else { throw .noStream }
        try await authenticator.checkHook(.subscribe(origin), request.principal, request.clientContext)
        return .egress(origin)
    }

    /// Waits until the process of a job may start. Returns false if the job has ended before.
    private func isNext(_ id: StreamID) async -> Bool {
        if starts.begin(id) { return true }
        return await withCheckedContinuation { continuation in
            starts.wait(id) { continuation.resume(returning: $0) }
        }
    }

    private func launch(_ id: StreamID, _ order: IngestJob, _ configuration: JobConfiguration) {
        enum JobUpdate: Sendable {
            case line(String)
            case end(ChildProcess.End)
        }
        let (updates, continuation) = AsyncStream.makeStream(of: JobUpdate.self)
        // The thread that reads the output waits while the stream contains the maximum number of lines.
        let space = DispatchSemaphore(value: 0)
        for _ in 0..<Self.waitingLines { space.signal() }
        do {
            let process = try ChildProcess(
                configuration.program, configuration.arguments, environment: JobEnvironment.make(),
                input: order.line,
                line: {
                    space.wait()
                    continuation.yield(.line($0))
                },
                ended: {
                    continuation.yield(.end($0))
                    continuation.finish()
                })
            runs[id]?.process = process
            Task {
                for await item in updates {
                    switch item {
                    case .line(let line):
                        await self.take(line, of: id)
                        space.signal()
                    case .end(let end): await self.processEnded(id, end)
                    }
                }
            }
        } catch {
            logger.error("worker could not be started", metadata: ["stream": "\(id)", "error": "\(error)"])
            runs[id]?.reportStart(false)
        }
    }

    private func isRunning(_ id: StreamID, within timeout: TimeSpan) async -> Bool {
        let limit = Task {
            try await Task.sleep(for: timeout.duration)
            runs[id]?.reportStart(false)
        }
        defer { limit.cancel() }
        return await withCheckedContinuation { continuation in
            if let answer = runs[id]?.answer { return continuation.resume(returning: answer) }
            runs[id]?.startContinuation = continuation
            if runs[id] == nil { continuation.resume(returning: false) }
        }
    }

    /// Returns the reason why a job did not start, and ends what remains of it.
    private func failure(of id: StreamID, _ uri: MediaURI) async -> APIError {
        let why = runs[id]?.reportedEnd?.description ?? "no media arrived before the timeout"
        runs[id]?.isOver = true
        logger.warning("worker failed", metadata: ["stream": "\(id)", "uri": "\(uri)", "error": "\(why)"])
        await end(id, reason: .failed, description: "")
        dismiss(id, kill: true)
        return APIError(.failed, "\(uri) cannot be used: \(why).")
    }

    // MARK: Reports of processes

    private func take(_ line: String, of id: StreamID) async {
        guard let isPermitted = runs[id]?.output.countLine(at: MonotonicClock.now()) else { return }
        guard isPermitted else { return endFlood(of: id) }
        guard let report = JobReport(line: line) else {
            guard runs[id]?.output.countMessage() == true else { return }
            let text = String(line.prefix(Self.longestNote))
            logger.warning("worker message", metadata: ["stream": "\(id)", "text": "\(text)"])
            return
        }
        switch report {
        case .opening: starts.finish(id)
        case .listening, .running:
            starts.finish(id)
            runs[id]?.reportStart(true)
        case .note(let text):
            guard runs[id]?.output.countMessage() == true else { return }
            logger.info(
                "worker message", metadata: ["stream": "\(id)", "text": "\(String(text.prefix(Self.longestNote)))"])
        case .ended(let reason, let description):
            starts.finish(id)
            guard runs[id]?.reportedEnd == nil else { return }
            runs[id]?.reportedEnd = (reason, description)
            logger.info(
                "worker finished",
                metadata: ["stream": "\(id)", "reason": "\(reason)", "description": "\(description)"])
            runs[id]?.reportStart(false)
            await end(id, wire: reason)
        }
    }

    /// Kills a process that writes too many lines.
    private func endFlood(of id: StreamID) {
        guard let process = runs[id]?.process, runs[id]?.output.beginEnd() == true else { return }
        logger.warning(
            "worker killed: it wrote more than \(JobOutputRate.maximumLines) lines in one second",
            metadata: ["stream": "\(id)"])
        process.kill()
    }

    private func processEnded(_ id: StreamID, _ status: ChildProcess.End) async {
        starts.finish(id)
        guard let run = runs[id] else { return }
        logger.info("worker process ended", metadata: ["stream": "\(id)", "status": "\(status)"])
        runs[id]?.reportStart(false)
        await end(id, wire: run.reportedEnd?.reason ?? StreamEndedReason.failed.rawValue)
        authenticator.workers.revoke(run.credential)
        runs[id]?.hasExited = true
        // Otherwise the SFU has not reported the end yet, which must be processed.
        if runs[id]?.isOver == true { runs[id] = nil }
    }

    /// Processes the end of a job's stream, which the SFU reports: notifies the client and ends the process.
    private func streamEnded(_ end: StreamEnd) async {
        guard let run = runs[end.streamID] else { return }
        dismiss(end.streamID, kill: false)
        guard !run.isOver else { return }
        runs[end.streamID]?.isOver = true
        if run.hasExited { runs[end.streamID] = nil }
        if let session = run.work.session { await registry.ended(end, in: session) }
        await run.onEnd?(end)
    }

    // MARK: Ending

    private func end(_ id: StreamID, wire: String) async {
        let reason = StreamEndedReason(wire: wire)
        // A reason of the protocol that is not in the enumeration, such as `egress-failed`, is sent as it is.
        await end(id, reason: reason.rawValue == wire ? reason : .custom, description: wire)
    }

    /// Ends the stream of a job, whether it is published already or not.
    func end(_ id: StreamID, reason: StreamEndedReason, description: String) async {
        if await directory.end(id, reason: reason, description: description) { return }
        await endWaiting(id, reason: reason, description: description)
    }

    /// Ends a stream of which only the job exists so far, such as one that listens for an encoder. Returns false if
    /// there is none with that identifier and application.
    @discardableResult
    func endWaiting(
        _ id: StreamID, of application: ApplicationID? = nil, reason: StreamEndedReason, description: String
    ) async -> Bool {
        guard let run = runs[id], application == nil || application == run.application else { return false }
        await streamEnded(StreamEnd(streamID: id, reason: reason, description: description))
        dismiss(id, kill: true)
        return true
    }

    /// Ends the streams of ended sessions periodically, unless they are detached.
    private func watchSessions() {
        guard watch == nil else { return }
        watch = Task { [weak self] in
            while (try? await Task.sleep(for: Self.watchInterval)) != nil {
                guard await self?.endAbandoned() == true else { return }
            }
        }
    }

    /// Returns false if there are no jobs any more.
    private func endAbandoned() async -> Bool {
        for (id, run) in runs where !run.isDetached && !run.isOver {
            guard let session = run.work.session, await registry.isGone(session, at: MonotonicClock.now()) else {
                continue
            }
            await end(id, reason: .ended, description: "")
        }
        if runs.isEmpty { watch = nil }
        return !runs.isEmpty
    }

    /// Returns whether a stream continues after its session has ended.
    func isDetached(_ id: StreamID) -> Bool { runs[id]?.isDetached ?? false }

    /// Waits for a process to end, and kills it if it does not.
    private func dismiss(_ id: StreamID, kill: Bool) {
        starts.finish(id)
        guard let run = runs[id] else { return }
        authenticator.workers.revoke(run.credential)
        guard let process = run.process else {
            runs[id] = nil
            return
        }
        if kill { process.end() }
        Task {
            try? await Task.sleep(for: Self.endTimeout)
            process.kill()
        }
    }

    /// Ends all jobs and waits for their processes, for a few seconds at most.
    func stop(reason: StreamEndedReason) async {
        isStopping = true
        for id in runs.keys { await endWaiting(id, reason: reason, description: reason.rawValue) }
        for run in runs.values { run.process?.end() }
        let limit = MonotonicClock.now() + .seconds(5)
        while runs.values.contains(where: { !$0.hasExited }), MonotonicClock.now() < limit {
            try? await Task.sleep(for: .milliseconds(20))
        }
        for run in runs.values { run.process?.kill() }
    }
}

/// The environment of job processes. It contains no variables that may hold secrets, and no proxy settings.
enum JobEnvironment {
    private static let names = ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"]

    static func make() -> [String: String] {
        var environment: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}

/// The options of a stream from or to a URI (`CreateStream.connectOptions` and `CreateStream.options`).
struct StreamURIOptions: Sendable {
    /// The maximum frame rate in frames per second; nil for no limit.
    private(set) var maximumFrameRate: Double?
    /// The duration at the beginning of the media that is skipped.
    private(set) var skip = TimeSpan.zero
    /// Whether the stream continues after its client's session has ended.
    private(set) var isDetached = false
    /// The unknown options.
    private(set) var unknown: [String] = []

    /// Parses options.
    ///
    /// - Throws: ``APIError`` if a value is invalid.
    init(_ texts: [String], options: [String]) throws(APIError) {
        isDetached = options.contains("detached")
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count > 1 ? parts[1] : ""
            switch parts[0] {
            case "source-uri-video-fps", "source-uri-video-fps-max":
                guard let rate = Double(value), (1...120).contains(rate) else { throw Self.refusal(parts[0]) }
                maximumFrameRate = min(maximumFrameRate ?? rate, rate)
            case "source-uri-preroll-skip-duration":
                guard let milliseconds = Int64(value), (0...60_000).contains(milliseconds) else {
                    throw Self.refusal(parts[0])
                }
                skip = .milliseconds(milliseconds)
            case "detached": isDetached = value.isEmpty || value == "true"
            default: unknown.append(parts[0])
            }
        }
    }

    private static func refusal(_ name: String) -> APIError {
        APIError(.badRequest, "The value of the connect option \(name) is invalid.")
    }
}
