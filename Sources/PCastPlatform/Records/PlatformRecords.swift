import Logging
import PCastCore
import PCastDatabase
import PCastIO
import Tracing

/// The persistent data of a running platform, with the queue of changes, the delivery of notifications, and periodic
/// tasks.
struct PlatformRecords: Sendable {
    let records: Records
    let writeQueue: DatabaseWriteQueue
    let webhooks: WebhookDispatcher
    let callbacks: CallbackClient
    /// Is called after changes were written; nil if nothing follows them.
    let onWritten = Setting<(@Sendable () -> Void)?>(nil)
    /// The applications whose tokens are valid.
    let applications: [PlatformConfiguration.Application]
    /// The streams of the previous platform process that may resume.
    let interrupted: InterruptedStreams
    private let configuration: StorageConfiguration
    private let retention: Setting<TimeSpan>
    /// The maximum time to deliver the last notifications when the platform stops.
    private let lastDeliveryTimeout: Setting<TimeSpan>
    private let logger: Logger

    /// The maximum number of ended streams in a database in memory.
    private static let memoryLimit = 10_000
    /// The interval of writing the time, which is the precision of the known end of a killed platform.
    private static let aliveInterval = Duration.seconds(2)

    /// Opens the database, and ends the streams that a killed platform left open and that cannot resume.
    ///
    /// - Throws: ``PlatformError``.
    static func open(
        _ configuration: StorageConfiguration, _ applications: [PlatformConfiguration.Application],
        _ statistics: PlatformStatistics, _ logger: Logger, tracer: any Tracer = NoOpTracer()
    ) async throws(PlatformError) -> PlatformRecords {
        do {
            let records =
                if let directory = configuration.directory {
                    try Records.open(directory, keyFile: configuration.keyFile)
                } else {
                    try Records.inMemory()
                }
            let now = MonotonicClock.wallTime()
            var interrupted = InterruptedStreams(lastSeen: now)
            if let seen = try await records.lastSeen() {
                let open = try await records.interrupted()
                interrupted = InterruptedStreams(open.streams, open.viewings, lastSeen: min(seen, now))
                let ended = try await records.endAbandoned(
                    at: interrupted.lastSeen, sparing: Set(interrupted.streams.map(\.id)))
                for stream in ended {
                    logger.warning(
                        "stream ended with the previous run of the platform", metadata: ["stream": "\(stream)"])
                }
            }
            try await records.record([.alive(at: now, [:])])
            let active = try await resolveApplications(applications, configuration.fallback, in: records, at: now)
            return PlatformRecords(records, active, interrupted, configuration, statistics, logger, tracer)
        } catch {
            throw .records("\(error)")
        }
    }

    private init(
        _ records: Records, _ applications: [PlatformConfiguration.Application],
        _ interrupted: InterruptedStreams, _ configuration: StorageConfiguration, _ statistics: PlatformStatistics,
        _ logger: Logger, _ tracer: any Tracer
    ) {
        self.records = records
        self.applications = applications
        self.interrupted = interrupted
        self.configuration = configuration
        self.logger = logger
        retention = Setting(TimeSpan(configuration.retention))
        lastDeliveryTimeout = Setting(TimeSpan(PlatformConfiguration.defaultDrainTime))
        callbacks = CallbackClient(
            listed: Setting(configuration.webhookAllowedNetworks), timeout: configuration.callbackTimeout)
        let webhooks = WebhookDispatcher(
            records, client: callbacks,
            schedule: RetrySchedule(waits: configuration.notificationWaits.map { TimeSpan($0) }),
            statistics: statistics, tracer: tracer, logger: logger)
        self.webhooks = webhooks
        writeQueue = DatabaseWriteQueue(records, logger: logger, timeout: configuration.writeTimeout.duration) {
            [onWritten] in
            webhooks.wake()
            onWritten.value?()
        }
    }

    /// Returns the applications whose tokens are valid: the configured ones, otherwise those in the database, otherwise
    /// the fallback.
    ///
    /// - Throws: `RecordsError`.
    private static func resolveApplications(
        _ configured: [PlatformConfiguration.Application], _ fallback: PlatformConfiguration.Application?,
        in records: Records, at now: WallTime
    ) async throws(RecordsError) -> [PlatformConfiguration.Application] {
        var resolved = configured
        if resolved.isEmpty {
            let recorded = try await records.applications()
            if !recorded.isEmpty { return recorded.map { .init(id: $0.id, secret: $0.secret) } }
            resolved = fallback.map { [$0] } ?? []
        }
        try await records.setApplications(resolved.map { .init(id: $0.id, secret: $0.secret) }, at: now)
        return resolved
    }

    /// Applies the settings that can change while the platform runs.
    func change(_ configuration: StorageConfiguration, drainTime: TimeSpan) {
        retention.value = TimeSpan(configuration.retention)
        callbacks.listed.value = configuration.webhookAllowedNetworks
        lastDeliveryTimeout.value = drainTime
    }

    /// Writes changes, delivers notifications and deletes old data until `finish`.
    func run(of directory: StreamDirectory) async {
        let webhookTask = Task { await webhooks.run() }
        let maintenance = Task {
            while (try? await Task.sleep(for: Self.aliveInterval)) != nil {
                // Without streams, nothing could be left open, so that writing is not necessary.
                let counts = await directory.viewerCounts
                if !counts.isEmpty { writeQueue.note(.alive(at: MonotonicClock.wallTime(), counts)) }
            }
        }
        let discarding = Task { await discard() }
        await writeQueue.run()
        maintenance.cancel()
        discarding.cancel()
        await webhooks.flush(within: lastDeliveryTimeout.value)
        webhookTask.cancel()
        await webhookTask.value
    }

    /// Lets `run` write the remaining changes, deliver the last notifications and return.
    func finish() { writeQueue.finish() }

    /// Lets another platform use the directory, after `run` has returned.
    func release() { records.release() }

    private func discard() async {
        repeat {
            do {
                try await records.discard(before: MonotonicClock.wallTime() - retention.value)
                if configuration.directory == nil { try await records.discard(keeping: Self.memoryLimit) }
            } catch {
                logger.error("old database entries could not be deleted", metadata: ["error": "\(error)"])
            }
        } while (try? await Task.sleep(for: configuration.directory == nil ? .seconds(30) : .seconds(600))) != nil
    }
}
