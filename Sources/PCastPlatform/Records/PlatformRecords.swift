import Logging
import PCastIO
import PCastMedia
import PCastRecords

/// The records of a platform that runs: who writes them, who carries their notifications, and what is done from time to
/// time.
struct PlatformRecords: Sendable {
    let records: Records
    let journal: Journal
    let courier: NotificationCourier
    let callbacks: CallbackClient
    /// Whose tokens count.
    let applications: [PlatformConfiguration.Application]
    /// What the platform before left behind, and what may go on.
    let interrupted: InterruptedStreams
    private let keeping: RecordKeeping
    private let retention: Setting<TimeSpan>
    /// How long the last notifications have when the platform ends.
    private let farewell: Setting<TimeSpan>
    private let logger: Logger

    /// Ended streams that are remembered where they are kept in memory.
    private static let memoryLimit = 10_000
    /// How often it is written that the platform runs, which is how well the end of a killed one is known.
    private static let pulse = Duration.seconds(2)

    /// Opens them, and ends what a platform that was killed left open and what cannot go on.
    static func open(
        _ keeping: RecordKeeping, _ applications: [PlatformConfiguration.Application],
        _ statistics: PlatformStatistics, _ logger: Logger
    ) async throws(PlatformError) -> PlatformRecords {
        do {
            let records =
                if let directory = keeping.directory {
                    try Records.open(directory, keyFile: keeping.keyFile)
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
                    logger.warning("ended with the platform before", metadata: ["stream": "\(stream)"])
                }
            }
            try await records.record([.alive(at: now, [:])])
            let active = try await settle(applications, keeping.fallback, in: records, at: now)
            return PlatformRecords(records, active, interrupted, keeping, statistics, logger)
        } catch {
            throw .records("\(error)")
        }
    }

    private init(
        _ records: Records, _ applications: [PlatformConfiguration.Application],
        _ interrupted: InterruptedStreams, _ keeping: RecordKeeping, _ statistics: PlatformStatistics,
        _ logger: Logger
    ) {
        self.records = records
        self.applications = applications
        self.interrupted = interrupted
        self.keeping = keeping
        self.logger = logger
        retention = Setting(keeping.retention)
        farewell = Setting(PlatformConfiguration.defaultDrainTime)
        callbacks = CallbackClient(listed: Setting(keeping.callbackNetworks))
        let courier = NotificationCourier(
            records, client: callbacks, schedule: RetrySchedule(waits: keeping.notificationWaits),
            statistics: statistics, logger: logger)
        self.courier = courier
        journal = Journal(records, logger: logger) { courier.wake() }
    }

    /// Those that are configured count and no others; where none are, those that counted last.
    private static func settle(
        _ configured: [PlatformConfiguration.Application], _ fallback: PlatformConfiguration.Application?,
        in records: Records, at now: WallTime
    ) async throws(RecordsError) -> [PlatformConfiguration.Application] {
        var wanted = configured
        if wanted.isEmpty {
            let recorded = try await records.applications()
            if !recorded.isEmpty { return recorded.map { .init(id: $0.id, secret: $0.secret) } }
            wanted = fallback.map { [$0] } ?? []
        }
        try await records.setApplications(wanted.map { .init(id: $0.id, secret: $0.secret) }, at: now)
        return wanted
    }

    /// What can be another while the platform runs.
    func change(_ keeping: RecordKeeping, drainTime: TimeSpan) {
        retention.value = keeping.retention
        callbacks.listed.value = keeping.callbackNetworks
        farewell.value = drainTime
    }

    /// Those count from now on, and no others.
    func setApplications(_ applications: [PlatformConfiguration.Application]) async throws(PlatformError) {
        do {
            try await records.setApplications(
                applications.map { .init(id: $0.id, secret: $0.secret) }, at: MonotonicClock.wallTime())
        } catch {
            throw .records("\(error)")
        }
    }

    /// Writes, notifies and forgets until `finish`.
    func run(of directory: StreamDirectory) async {
        let carrying = Task { await courier.run() }
        let care = Task {
            while (try? await Task.sleep(for: Self.pulse)) != nil {
                // Where nothing is published there is nothing that could be left open, and the disk may rest.
                let counts = await directory.viewerCounts
                if !counts.isEmpty { journal.note(.alive(at: MonotonicClock.wallTime(), counts)) }
            }
        }
        let forgetting = Task { await forget() }
        await journal.run()
        care.cancel()
        forgetting.cancel()
        await courier.flush(within: farewell.value)
        carrying.cancel()
        await carrying.value
    }

    /// Writes what is left, gives the last notifications a little time, and lets `run` return.
    func finish() { journal.finish() }

    private func forget() async {
        repeat {
            do {
                try await records.forget(before: MonotonicClock.wallTime() - retention.value)
                if keeping.directory == nil { try await records.forget(keeping: Self.memoryLimit) }
            } catch {
                logger.error("old records stay", metadata: ["why": "\(error)"])
            }
        } while (try? await Task.sleep(for: keeping.directory == nil ? .seconds(30) : .seconds(600))) != nil
    }
}
