import Logging
import PCastCore
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
        /// The number of starts of each job, so that an earlier one does not count.
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

        init(_ declaration: StreamDeclaration, _ application: ApplicationID, at now: Instant) {
            self.declaration = declaration
            self.application = application
            machine = NamedStreamMachine(declaration, at: now)
        }

        /// Whether the stream uses another one as its fallback now.
        func usesFallback(_ name: String) -> Bool {
            declaration.fallback == .stream(name) && machine.fallback.isRunning
        }
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
    let directory: StreamDirectory
    let authenticator: TokenAuthenticator
    /// The events for the host.
    let events: StreamEventHub
    let logger: Logger
    /// The directory of files; nil for none.
    private let mediaDirectory: String?
    /// The declarations of the configuration, and those of the management API, which precede them.
    private var configured: StreamDeclarations
    private var managed: [String: StreamDeclaration] = [:]
    /// All declarations.
    private(set) var declarations: StreamDeclarations { didSet { directory.available.setDeclarations(declarations) } }
    /// The declared names, and those of patterns that were published.
    var entries: [String: Entry] = [:]
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private var nextRequest = 0
    private var hasBegun = false
    private var isStopping = false

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
        directory: StreamDirectory, authenticator: TokenAuthenticator, events: StreamEventHub, logger: Logger
    ) {
        configured = declarations
        self.declarations = declarations
        self.mediaDirectory = mediaDirectory
        self.router = router
        self.workers = workers
        self.directory = directory
        directory.available.setDeclarations(declarations)
        self.authenticator = authenticator
        self.events = events
        self.logger = logger
        (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Declarations

    /// Replaces the declarations of the configuration. Streams whose declaration is unchanged continue, and others end.
    /// A declaration of the management API that does not fit any more is removed.
    func apply(_ declarations: StreamDeclarations) async {
        configured = declarations
        while true {
            do throws(StreamDeclarations.Mistake) {
                self.declarations = try merged(managed)
                break
            } catch {
                guard managed.removeValue(forKey: error.name) != nil else { break }
                logger.warning("declaration removed", metadata: ["name": "\(error.name)", "error": "\(error.reason)"])
            }
        }
        await applyAll()
    }

    /// Returns all declarations with those of the management API.
    ///
    /// - Throws: ``StreamDeclarations/Mistake``.
    private func merged(_ managed: [String: StreamDeclaration]) throws(StreamDeclarations.Mistake) -> StreamDeclarations
    {
        let own = managed.values.sorted { $0.name < $1.name }
        return try StreamDeclarations(own + configured.all.filter { managed[$0.name] == nil })
    }

    /// Sets a declaration of the management API. It is valid until the platform stops.
    ///
    /// - Throws: ``StreamDeclarations/Mistake``.
    func set(_ declaration: StreamDeclaration) async throws(StreamDeclarations.Mistake) {
        var changed = managed
        changed[declaration.name] = declaration
        declarations = try merged(changed)
        managed = changed
        await applyAll()
    }

    /// Removes a declaration of the management API. Returns false if there is none.
    ///
    /// - Throws: ``StreamDeclarations/Mistake`` if another one needs it.
    func remove(_ name: String, of application: ApplicationID) async throws(StreamDeclarations.Mistake) -> Bool {
        guard let declared = managed[name], self.application(of: declared) == application else { return false }
        var changed = managed
        changed[name] = nil
        declarations = try merged(changed)
        managed = changed
        await applyAll()
        return true
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
            let waiting = entries[name]?.waiting ?? [:]
            entries[name]?.waiting = [:]
            for request in waiting.values { request.resume(returning: false) }
        }
    }

    private func applyAll() async {
        guard hasBegun else { return }
        let now = MonotonicClock.now()
        for (name, entry) in entries {
            let declaration = declarations.declaration(of: name)
            guard declaration != entry.declaration || application(of: declaration) != entry.application else {
                continue
            }
            await end(name)
        }
        for declaration in declarations.all where !declaration.isPattern && entries[declaration.name] == nil {
            entries[declaration.name] = Entry(declaration, application(of: declaration), at: now)
            // A source that is not on demand starts now.
            update(declaration.name) { _, _ in }
        }
        wake.yield()
    }

    /// Ends a stream whose declaration was removed or changed.
    private func end(_ name: String) async {
        guard var entry = entries.removeValue(forKey: name) else { return }
        entry.machine.setOn(false, at: MonotonicClock.now())
        for request in entry.waiting.values { request.resume(returning: false) }
        for job in entry.jobs.values { await workers.end(job, reason: .ended, description: "") }
        for id in entry.pushes.values.compactMap(\.id) { await workers.end(id, reason: .ended, description: "") }
        for publisher in entry.machine.publishers where publisher.role == .publisher {
            await directory.end(publisher.id, reason: .custom, description: "declaration changed")
        }
        if let stream = entry.stream { await directory.end(stream, reason: .ended, description: "") }
    }

    private func application(of declaration: StreamDeclaration?) -> ApplicationID {
        declaration?.application ?? authenticator.owner
    }

    /// Returns whether a name is declared for an application.
    func isDeclared(_ name: String, of application: ApplicationID) -> Bool {
        guard let declaration = declarations.declaration(of: name) else { return false }
        return self.application(of: declaration) == application
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
            entries[name] = Entry(declaration, application, at: MonotonicClock.now())
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
        report(.ended, name)
        update(name) { machine, now in machine.closed(at: now) }
        removeIfUnused(name)
    }

    /// Forgets the stream of a name, which has ended or is about to, also as the fallback of others.
    private func clearStream(of name: String) {
        guard let id = entries[name]?.stream else { return }
        entries[name]?.stream = nil
        entries[name]?.media = nil
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
    private func update(_ name: String, _ change: (inout NamedStreamMachine, Instant) -> Void) {
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
            guard case .stream(let other) = entry.declaration.fallback else { return startJob(.fallback, of: name) }
            update(other) { machine, now in machine.setViewers(max(machine.viewers, 1), at: now) }
            if let stream = entries[other]?.stream { joined(stream, name, .fallback) }
        case .stopFallback:
            guard case .stream(let other) = entry.declaration.fallback else {
                return await stopJob(.fallback, of: name)
            }
            if let stream = entries[other]?.stream { left(stream, name) }
        case .open(let publisher): await open(name, like: publisher)
        case .close:
            guard let stream = entry.stream else { return }
            clearStream(of: name)
            await directory.end(stream, reason: .ended, description: "")
            report(.ended, name)
        case .select(let publisher): await select(publisher, of: name)
        case .end(let publisher):
            let description = entry.machine.isOn ? "replaced by another publisher" : "switched off"
            await directory.end(publisher, reason: .custom, description: description)
        case .demanded: report(.demanded, name)
        case .switched(_, let reason):
            entries[name]?.switchedAt = MonotonicClock.wallTime()
            report(.switched(reason: reason.rawValue), name)
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
            report(.ready, name)
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

    /// Reports an event of a name.
    private func report(_ event: NamedStreamEvent, _ name: String) {
        logger.info("named stream", metadata: ["name": "\(name)", "event": "\(event)"])
        events.yield(.named(name, entries[name]?.stream, event))
    }

    // MARK: Jobs

    private func startJob(_ role: NamedStreamMachine.Role, of name: String) {
        guard let entry = entries[name], let uri = uri(of: role, entry.declaration) else { return }
        let start = (entry.starts[role] ?? 0) + 1
        entries[name]?.starts[role] = start
        let job = DeclaredJob(
            name: name, application: entry.application, role: role, uri: uri, isLooping: role == .fallback,
            onEnd: { [weak self] end in await self?.jobEnded(role, start, of: name, why: end.wire) })
        Task {
            do throws(APIError) {
                let id = try await workers.start(job)
                await jobStarted(id, role, start, of: name)
            } catch {
                jobEnded(role, start, of: name, why: error.message)
            }
        }
    }

    /// Returns the URI of a job. A path of a fallback is below the directory of files.
    private func uri(of role: NamedStreamMachine.Role, _ declaration: StreamDeclaration) -> String? {
        guard role == .fallback else { return declaration.source }
        guard case .file(let text) = declaration.fallback else { return nil }
        if text.hasPrefix("file://") { return text }
        return "file://" + (text.hasPrefix("/") ? text : (mediaDirectory ?? "") + "/" + text)
    }

    private func jobStarted(_ id: StreamID, _ role: NamedStreamMachine.Role, _ start: Int, of name: String) async {
        let isWanted =
            role == .source ? entries[name]?.machine.source.isRunning : entries[name]?.machine.fallback.isRunning
        guard entries[name]?.starts[role] == start, isWanted == true else {
            return await workers.end(id, reason: .ended, description: "")
        }
        entries[name]?.jobs[role] = id
        if role == .source { entries[name]?.failure = nil }
    }

    private func jobEnded(_ role: NamedStreamMachine.Role, _ start: Int, of name: String, why: String) {
        guard entries[name]?.starts[role] == start else { return }
        entries[name]?.jobs[role] = nil
        if role == .source { entries[name]?.failure = why }
        update(name) { machine, now in machine.jobEnded(role, at: now) }
    }

    private func stopJob(_ role: NamedStreamMachine.Role, of name: String) async {
        // The end of this job does not count as a failure.
        entries[name]?.starts[role, default: 0] += 1
        guard let id = entries[name]?.jobs.removeValue(forKey: role) else { return }
        await workers.end(id, reason: .ended, description: "")
    }

    // MARK: Pushes

    /// Starts the pushes of a stream that is open, again after they ended.
    private func updatePushes(of name: String, at now: Instant) {
        guard let entry = entries[name] else { return }
        for uri in entry.declaration.forward {
            var push = entry.pushes[uri] ?? Push()
            switch push.job.update(isWanted: entry.stream != nil, at: now) {
            case true:
                push.start += 1
                startPush(uri, push.start, of: name, entry.application)
            case false:
                push.start += 1
                if let id = push.id { Task { await workers.end(id, reason: .ended, description: "") } }
                push.id = nil
            default: break
            }
            entries[name]?.pushes[uri] = push
        }
    }

    private func startPush(_ uri: String, _ start: Int, of name: String, _ application: ApplicationID) {
        let job = DeclaredJob(
            name: name, application: application, role: nil, uri: uri, isLooping: false,
            onEnd: { [weak self] end in await self?.pushEnded(uri, start, of: name, why: end.wire) })
        Task {
            do throws(APIError) {
                let id = try await workers.start(job)
                await pushStarted(id, uri, start, of: name)
            } catch {
                pushEnded(uri, start, of: name, why: error.message)
            }
        }
    }

    private func pushStarted(_ id: StreamID, _ uri: String, _ start: Int, of name: String) async {
        guard entries[name]?.pushes[uri]?.start == start else {
            return await workers.end(id, reason: .ended, description: "")
        }
        entries[name]?.pushes[uri]?.id = id
        entries[name]?.pushes[uri]?.failure = nil
    }

    private func pushEnded(_ uri: String, _ start: Int, of name: String, why: String) {
        guard entries[name]?.pushes[uri]?.start == start else { return }
        entries[name]?.pushes[uri]?.id = nil
        entries[name]?.pushes[uri]?.failure = why
        entries[name]?.pushes[uri]?.job.ended(at: MonotonicClock.now())
        wake.yield()
    }
}
