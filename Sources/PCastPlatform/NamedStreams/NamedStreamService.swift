import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSFU

/// The declared streams of a platform. It drives a ``NamedStreamMachine`` for each name, and runs their jobs.
///
/// A name that nobody watches and that has no publisher costs no time.
actor NamedStreamService {
    /// The place of a publisher at a name.
    struct Admission: Sendable {
        let name: String
        /// The streams on the same shard of the SFU.
        let group: String
        /// The preferred codec of video.
        let codec: Codec
    }

    /// A declared stream with its state.
    struct Entry {
        let declaration: StreamDeclaration
        let application: ApplicationID
        var machine: NamedStreamMachine
        /// The stream that viewers receive; nil while it is closed.
        var stream: StreamID?
        /// The tracks of the stream.
        var media: IngestMedia?
        /// The jobs of the source and of the fallback; nil while they do not run.
        var jobs: [NamedStreamMachine.Role: StreamID] = [:]
        /// The slate; nil while none is needed.
        var slate: ShownSlate?
        /// The time at which the frames for a slate were kept.
        var keptAt: Instant?
        /// The number of the last start of each job or slate, so that an earlier one does not count.
        var starts: [NamedStreamMachine.Role: Int] = [:]
        /// The pushes by their URIs.
        var pushes: [String: Push] = [:]
        /// The reason why the source could not be opened the last time; nil while it works.
        var failure: String?
        /// The requests that wait for the stream.
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var outputs: [NamedStreamMachine.Output] = []
        var isPerforming = false
        /// The time of the last switch.
        var switchedAt: WallTime?

        init(_ declaration: StreamDeclaration, _ application: ApplicationID, makesSlates: Bool, at now: Instant) {
            self.declaration = declaration
            self.application = application
            machine = NamedStreamMachine(declaration, makesSlates: makesSlates, at: now)
        }

        /// Whether the stream uses another one as its fallback now.
        func usesFallback(_ name: String) -> Bool {
            declaration.fallback == .stream(name) && machine.fallback.isRunning
        }
    }

    /// A slate that fills the time without a publisher.
    struct ShownSlate {
        /// The last frames of the publisher, from the first slate of a gap on. A second one would show the first one otherwise.
        var last: LastFrames?
        /// The publisher of the slate; nil until it is made.
        var id: StreamID?
        /// Plays the slate.
        var player: Task<Void, Never>?
    }

    /// A push of a stream to another server.
    struct Push {
        var job = NamedStreamMachine.Job()
        /// The egress job; nil while it does not run.
        var id: StreamID?
        var start = 0
        var failure: String?
    }

    let router: MediaRouter
    let workers: JobSupervisor
    /// Makes slates; nil if there are none.
    let slates: SlateService?
    let directory: StreamDirectory
    let authenticator: TokenAuthenticator
    /// The events for the host.
    let events: StreamEventHub
    /// The events for clients with a role of the management API.
    let eventLog = NameEventLog()
    /// The database of the declarations of the management API.
    let records: Records
    let logger: Logger
    /// The directory of files; nil for none.
    let mediaDirectory: String?
    /// The declarations of the configuration.
    var configured: StreamDeclarations
    /// The declarations of the management API, which precede those of the configuration.
    var managed: [String: StreamDeclaration] = [:]
    /// The declarations in use.
    var declarations: StreamDeclarations { didSet { directory.available.setDeclarations(declarations) } }
    /// The last change of declarations. The next one waits for it.
    var lastChange: Task<Void, Never>?
    /// The declared names, and those of patterns that were published.
    var entries: [String: Entry] = [:]
    private let wakes: AsyncStream<Void>
    let wake: AsyncStream<Void>.Continuation
    private var nextRequest = 0
    private(set) var hasBegun = false
    private(set) var isStopping = false
    /// The number of the last start of a job or a slate. An entry that replaces another one of its name has other numbers.
    private var lastStart = 0
    /// The number of slates that are being made.
    var slatesInProgress = 0

    /// The time for which a request waits for a stream. It is below the timeout of requests.
    private static let waitingTime = Duration.seconds(8)
    /// The maximum number of requests that wait for a stream.
    private static let maximumWaiting = 10_000
    /// The maximum number of names that patterns have created.
    private static let maximumNames = 20_000
    /// The interval in which arrivals and viewers are read, and the shorter one while publishers stand by or viewers wait.
    private static let interval = Duration.milliseconds(100)
    private static let shortInterval = Duration.milliseconds(20)

    init(
        _ declarations: StreamDeclarations, mediaDirectory: String?, router: MediaRouter, workers: JobSupervisor,
        slates: SlateService?, directory: StreamDirectory, authenticator: TokenAuthenticator, events: StreamEventHub,
        records: Records,
        logger: Logger
    ) {
        configured = declarations
        self.declarations = declarations
        self.mediaDirectory = mediaDirectory
        self.router = router
        self.workers = workers
        self.slates = slates
        self.directory = directory
        directory.available.setDeclarations(declarations)
        self.authenticator = authenticator
        self.events = events
        self.records = records
        self.logger = logger
        (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Lets the sources start, because the platform listens.
    func begin() async {
        hasBegun = true
        await applyAll()
    }

    /// Starts no more jobs and admits no more publishers.
    func stop() {
        isStopping = true
        for name in entries.keys {
            entries[name]?.slate?.player?.cancel()
            let waiting = entries[name]?.waiting ?? [:]
            entries[name]?.waiting = [:]
            for request in waiting.values { request.resume(returning: false) }
        }
    }

    /// Returns a number that no other start of a job or a slate has.
    func nextStart() -> Int {
        lastStart += 1
        return lastStart
    }

    // MARK: Publishers

    /// Admits a publisher to a name. Returns nil if the name is not declared.
    ///
    /// - Throws: ``APIError`` with the kind `conflict`.
    func admit(_ name: String, of application: ApplicationID, isJob: Bool) throws(APIError) -> Admission? {
        guard let declaration = declarations.declaration(of: name), self.application(of: declaration) == application
        else { return nil }
        if entries[name] == nil {
            guard entries.count < Self.maximumNames else {
                throw APIError(.capacity, "There are too many named streams: end some first.")
            }
            entries[name] = Entry(
                declaration, application, makesSlates: slates != nil, at: MonotonicClock.now())
        }
        guard let entry = entries[name], !isStopping, isJob || entry.machine.hasSpace else {
            throw APIError(
                .conflict, "The stream “\(name)” is switched off or has too many publishers: end one first.")
        }
        return Admission(name: name, group: declarations.root(of: name), codec: entry.media?.video ?? .h264)
    }

    /// Adds a publisher that has begun.
    func joined(_ id: StreamID, _ name: String, _ role: NamedStreamMachine.Role) {
        update(name) { machine, now in machine.joined(id, role, at: now) }
    }

    /// Removes a publisher that has left.
    func left(_ id: StreamID, _ name: String) {
        update(name) { machine, now in machine.left(id, at: now) }
        removeIfUnused(name)
    }

    /// Records the end of the stream that viewers of a name receive.
    func closed(_ id: StreamID, _ name: String) {
        guard entries[name]?.stream == id else { return }
        clearStream(of: name)
        report(.ended, name, stream: id)
        update(name) { machine, now in machine.closed(at: now) }
        removeIfUnused(name)
    }

    /// Forgets the stream of a name, which has ended or is about to, also as the fallback of others.
    private func clearStream(of name: String) {
        guard let id = entries[name]?.stream else { return }
        entries[name]?.stream = nil
        entries[name]?.media = nil
        entries[name]?.slate?.last = nil
        for (other, entry) in entries where entry.usesFallback(name) {
            update(other) { machine, now in machine.left(id, at: now) }
        }
    }

    /// Removes the entry of a name that only a pattern declares.
    private func removeIfUnused(_ name: String) {
        guard declarations[name] == nil, let entry = entries[name], entry.machine.isIdle, entry.stream == nil,
            entry.waiting.isEmpty
        else { return }
        entries[name] = nil
    }

    // MARK: Viewers

    /// Waits until the stream of a name is open, and lets its source start.
    ///
    /// - Throws: ``APIError`` with the kind `notReady` if it does not open in time. It returns at once if nothing can
    ///   be expected.
    func wait(for name: String) async throws(APIError) {
        guard let declaration = declarations[name], let entry = entries[name], entry.stream == nil, !isStopping,
            entry.machine.isOn,
            declaration.source != nil || declaration.fallback != nil || !entry.machine.publishers.isEmpty
        else { return }
        guard entry.waiting.count < Self.maximumWaiting else {
            throw APIError(.capacity, "Too many viewers wait for the stream: retry in a moment.")
        }
        nextRequest += 1
        let request = nextRequest
        let limit = Task {
            try await Task.sleep(for: Self.waitingTime)
            resume(request, of: name, isOpen: false)
        }
        let isOpen = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            entries[name]?.waiting[request] = continuation
            updateViewers(of: name)
        }
        limit.cancel()
        guard isOpen else {
            let why = entries[name]?.failure.map { ": \($0)" } ?? ""
            throw APIError(
                .notReady, "The source of the stream is not ready: retry in a moment.",
                detail: "the source of “\(name)” is not ready\(why)")
        }
    }

    private func resume(_ request: Int, of name: String, isOpen: Bool) {
        guard let continuation = entries[name]?.waiting.removeValue(forKey: request) else { return }
        continuation.resume(returning: isOpen)
        wake.yield()
    }

    /// Counts a request that waits as a viewer at once.
    private func updateViewers(of name: String) {
        guard let entry = entries[name] else { return }
        update(name) { machine, now in machine.setViewers(max(machine.viewers, entry.waiting.count), at: now) }
    }

    // MARK: Control

    /// Switches a stream on or off. Returns false if it is not declared.
    func setOn(_ isOn: Bool, _ name: String, of application: ApplicationID) -> Bool {
        guard let entry = entries[name], entry.application == application else { return false }
        update(name) { machine, now in machine.setOn(isOn, at: now) }
        return true
    }

    /// Switches a stream to a publisher that stands by. Returns nil if the stream is not declared, and false if there is
    /// no such publisher.
    func switchToStandby(_ name: String, of application: ApplicationID) -> Bool? {
        guard let entry = entries[name], entry.application == application else { return nil }
        var isSwitched = false
        update(name) { machine, now in isSwitched = machine.switchToStandby(at: now) }
        return isSwitched
    }

    // MARK: Time

    /// Drives all names until the task is cancelled.
    func run() async {
        var iterator = wakes.makeAsyncIterator()
        while !Task.isCancelled {
            await advance()
            if entries.values.contains(where: { !$0.machine.isIdle || !$0.waiting.isEmpty }) {
                try? await Task.sleep(for: isUrgent ? Self.shortInterval : Self.interval)
            } else {
                guard await iterator.next() != nil else { break }
            }
        }
        stop()
        eventLog.finish()
    }

    /// Whether a decision may be needed within a few frames.
    private var isUrgent: Bool {
        entries.values.contains { entry in
            !entry.waiting.isEmpty || (entry.declaration.hasStandby && entry.machine.publishers.count > 1)
                || (!entry.machine.isOpen && !entry.machine.publishers.isEmpty)
        }
    }

    /// Reads the arrivals and viewers of all names that are in use, and lets them decide.
    private func advance() async {
        let active = entries.filter { !$0.value.machine.isIdle || !$0.value.waiting.isEmpty }
        guard !active.isEmpty else { return }
        let arrivals = await router.arrivals(of: active.values.flatMap { $0.machine.publishers.map(\.id) })
        let viewers = await directory.viewers(of: active.values.compactMap(\.stream))
        let read = arrivals.mapValues { NamedStreamMachine.Arrivals(last: $0.last, isDecodable: $0.isDecodable) }
        let now = MonotonicClock.now()
        for name in active.keys {
            guard let entry = entries[name] else { continue }
            let watching = entry.stream.flatMap { viewers[$0] } ?? 0
            let pushing = entry.pushes.values.count { $0.id != nil }
            let count = max(watching - pushing, 0) + entry.waiting.count + users(of: name)
            updatePushes(of: name, at: now)
            keepLastFrames(of: name, at: now)
            update(name) { machine, now in
                machine.setViewers(count, at: now)
                machine.advance(to: now, read)
            }
            removeIfUnused(name)
        }
    }

    /// Returns the number of streams that use a name as their fallback now.
    private func users(of name: String) -> Int {
        entries.values.count { $0.usesFallback(name) }
    }

    /// Changes the machine of a name, and performs its outputs.
    func update(_ name: String, _ change: (inout NamedStreamMachine, Instant) -> Void) {
        guard entries[name] != nil, !isStopping else { return }
        change(&entries[name]!.machine, MonotonicClock.now())
        let outputs = entries[name]!.machine.takeOutputs()
        entries[name]!.outputs += outputs
        if !outputs.isEmpty { perform(name) }
        wake.yield()
    }

    // MARK: Outputs

    /// Performs the outputs of a name in their order, one after another.
    private func perform(_ name: String) {
        guard entries[name]?.isPerforming == false else { return }
        entries[name]?.isPerforming = true
        Task {
            while let output = takeOutput(of: name) { await perform(output, of: name) }
        }
    }

    private func takeOutput(of name: String) -> NamedStreamMachine.Output? {
        guard entries[name]?.outputs.isEmpty == false else {
            entries[name]?.isPerforming = false
            return nil
        }
        return entries[name]?.outputs.removeFirst()
    }

    private func perform(_ output: NamedStreamMachine.Output, of name: String) async {
        guard let entry = entries[name] else { return }
        switch output {
        case .startSource: startJob(.source, of: name)
        case .stopSource: await stopJob(.source, of: name)
        case .startFallback:
            guard let fallback = entry.declaration.fallback else { return startSlate(of: name) }
            guard case .stream(let other) = fallback else { return startJob(.fallback, of: name) }
            update(other) { machine, now in machine.setViewers(max(machine.viewers, 1), at: now) }
            if let stream = entries[other]?.stream { joined(stream, name, .fallback) }
        case .stopFallback:
            guard let fallback = entry.declaration.fallback else { return await stopSlate(of: name) }
            guard case .stream(let other) = fallback else { return await stopJob(.fallback, of: name) }
            if let stream = entries[other]?.stream { left(stream, name) }
        case .open(let publisher): await open(name, like: publisher)
        case .close:
            guard let stream = entry.stream else { return }
            clearStream(of: name)
            await directory.end(stream, reason: .ended, description: "")
            report(.ended, name, stream: stream)
        case .select(let publisher): await select(publisher, of: name)
        case .end(let publisher):
            let description = entry.machine.isOn ? "replaced by another publisher" : "switched off"
            await directory.end(publisher, reason: .custom, description: description)
        case .demanded: report(.demanded, name, stream: entry.stream)
        case .switched(let publisher, let reason):
            entries[name]?.switchedAt = MonotonicClock.wallTime()
            // The next slate shows the last frame of this publisher.
            if reason != .fallback { entries[name]?.slate?.last = nil }
            report(.switched(reason: reason.rawValue), name, stream: entry.stream, publisher: publisher)
        }
    }

    private func open(_ name: String, like publisher: StreamID) async {
        guard let entry = entries[name], let media = await router.media(of: publisher) else {
            return update(name) { machine, now in machine.closed(at: now) }
        }
        var capabilities = entry.declaration.capabilities
        if entry.declaration.isRecorded, !capabilities.contains(RecordingService.capability) {
            capabilities.append(RecordingService.capability)
        }
        do throws(APIError) {
            let stream = try await directory.open(
                name, of: entry.application, capabilities: capabilities, like: media,
                group: declarations.root(of: name))
            entries[name]?.stream = stream
            entries[name]?.media = media
            entries[name]?.failure = nil
            for (other, entry) in entries where entry.usesFallback(name) { joined(stream, other, .fallback) }
            report(.ready, name, stream: stream)
        } catch {
            entries[name]?.failure = error.message
            logger.warning("named stream not opened", metadata: ["name": "\(name)", "error": "\(error.detail)"])
            update(name) { machine, now in machine.closed(at: now) }
        }
    }

    private func select(_ publisher: StreamID, of name: String) async {
        guard let stream = entries[name]?.stream else { return }
        do throws(SFUError) {
            try await router.splice(publisher, into: stream)
        } catch {
            logger.warning("publisher not selected", metadata: ["name": "\(name)", "error": "\(error)"])
        }
        // Viewers join when packets follow.
        for request in entries[name]?.waiting.keys.sorted() ?? [] { resume(request, of: name, isOpen: true) }
    }

    /// Reports an event of a name to the host, to webhooks and to the readers of its application's events.
    private func report(
        _ event: NamedStreamEvent, _ name: String, stream: StreamID?, publisher: StreamID? = nil
    ) {
        logger.info("named stream", metadata: ["name": "\(name)", "event": "\(event)"])
        events.yield(.named(name, stream, event))
        guard let application = entries[name]?.application else { return }
        let record = NameEventRecord(
            application: application, name: name, stream: stream, kind: event.kind, reason: event.reason,
            publisher: publisher, time: MonotonicClock.wallTime())
        directory.writeQueue.note(.nameChanged(record))
        eventLog.append(record)
    }
}

extension NamedStreamEvent {
    fileprivate var kind: NotificationRecord.Kind {
        switch self {
        case .ready: .ready
        case .ended: .ended
        case .demanded: .demanded
        case .switched: .switched
        }
    }

    fileprivate var reason: String? { if case .switched(let reason) = self { reason } else { nil } }
}
