import Foundation
import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastIO

/// The persistent data that this node shares with the other nodes of its cluster: added applications, stream keys, webhooks,
/// and notifications that are not delivered yet.
///
/// The database of the node is written first, and then the directory. A round compares both. It follows each change, and
/// otherwise runs once a second, so that what the directory has lost is written again.
actor ClusterPersistence {
    private let cluster: Cluster
    private let records: Records
    private let webhooks: WebhookDispatcher
    private let administration: PlatformAdministration
    private let ingest: IngestService
    private let access: ApplicationAccess
    private let logger: Logger
    private let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    /// Whether the values of the database were announced since the start.
    private var hasAnnounced = false
    /// The values of other nodes that are not in the database yet.
    private var unapplied: [ClusterValue] = []
    /// The number of notifications in the last round.
    private var pendingCount = 0
    private var isFailing = false

    /// The maximum number of notifications of this node that other nodes keep. Later ones follow when these are delivered.
    private static let notificationLimit = 10_000
    /// The time after a round in which no other one begins, for each hundred notifications that are read in a round.
    private static let pause = Duration.milliseconds(50)
    private static let interval = Duration.seconds(1)

    init(
        cluster: Cluster, platformRecords: PlatformRecords, administration: PlatformAdministration,
        ingest: IngestService, access: ApplicationAccess, logger: Logger
    ) {
        self.cluster = cluster
        records = platformRecords.records
        webhooks = platformRecords.webhooks
        self.administration = administration
        self.ingest = ingest
        self.access = access
        self.logger = logger
        platformRecords.onWritten.value = { [wakeup] in wakeup.yield() }
    }

    /// Begins a round soon.
    nonisolated func wake() { wakeup.yield() }

    /// Runs rounds until the task is cancelled, and then a last one.
    func run() async {
        let ticks = Task { [wakeup] in
            repeat { wakeup.yield() } while (try? await Task.sleep(for: Self.interval)) != nil
        }
        for await _ in wakeups {
            await compare()
            try? await Task.sleep(for: min(Self.pause * (1 + pendingCount / 100), Self.interval))
        }
        ticks.cancel()
        // The database rejects requests of a cancelled task.
        await Task { await compare() }.value
    }

    private func compare() async {
        // A notification that is known now is delivered to webhooks whose values are known, too.
        let notifications = cluster.ownNotifications
        do throws(RecordsError) {
            try await announceValues()
            try await applyValues()
            if let notifications { try await compare(notifications) }
            isFailing = false
        } catch {
            guard !isFailing else { return }
            isFailing = true
            logger.error("the data of the cluster could not be stored", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Values

    private func announceValues() async throws(RecordsError) {
        if !hasAnnounced {
            for value in try await records.clusterValues() { announce(value) }
            hasAnnounced = true
        }
        for value in try await records.takeClusterChanges(above: cluster.lowestVersion) { announce(value) }
    }

    private func announce(_ value: ClusterValueRecord) {
        guard let shared = ClusterValue(value) else {
            return logger.error("a value is too large for the cluster", metadata: ["value": "\(value)"])
        }
        cluster.announce(shared)
    }

    private func applyValues() async throws(RecordsError) {
        unapplied += cluster.takeChangedValues()
        var haveKeysChanged = false
        while let value = unapplied.first {
            let record = ClusterValueRecord(value)
            do throws(RecordsError) {
                if try await apply(record), record.kind == .streamKey { haveKeysChanged = true }
            } catch {
                if error.isOfTheDisk { throw error }
                logger.error(
                    "a value of another node is rejected", metadata: ["value": "\(record)", "error": "\(error)"])
            }
            unapplied.removeFirst()
        }
        if haveKeysChanged { await ingest.access.keysChanged() }
    }

    /// Stores a value of another node, and ends what is not permitted any more. Returns whether it was newer than the stored
    /// one.
    private func apply(_ value: ClusterValueRecord) async throws(RecordsError) -> Bool {
        let application = value.application
        let former = value.kind == .streamKey ? try await records.streamKey(value.name, of: application) : nil
        guard try await records.apply(value, at: MonotonicClock.wallTime()) else { return false }
        switch value.kind {
        case .streamKey:
            let current = try await records.streamKey(value.name, of: application)
            if let former, former.secret != current?.secret {
                await ingest.access.keysChanged()
                await ingest.revoke(StreamKeyPrincipal.fingerprint(of: value.name, application))
            }
        case .application:
            try await administration.reloadAdded()
            if await administration.isConfigured(application) {
                break
            } else if value.content == nil {
                await access.revokeAll(of: application)
            } else {
                await access.revokeSecret(of: application)
            }
        case .callback: webhooks.wake()
        }
        return true
    }

    // MARK: Notifications

    /// Compares the notifications that this node delivers according to the directory with those of the outbox, which is read
    /// later: one that is delivered in between is found to be delivered.
    private func compare(_ own: [ClusterNotification]) async throws(RecordsError) {
        let pending = try await records.pendingNotifications(limit: Self.notificationLimit)
        pendingCount = pending.count
        let known = Set(own.map(\.id))
        let node = cluster.node.name
        var transferred: [String] = []
        for (number, entry) in pending where !known.contains(entry.id) {
            if cluster.isTakenOver(entry.id) {
                transferred.append(entry.id)
            } else if let content = try? JSONEncoder().encode(entry), content.count <= ClusterNotification.maximumSize {
                cluster.announce(
                    ClusterNotification(id: entry.id, owner: node, origin: node, number: number, content: content))
            }
        }
        if !transferred.isEmpty {
            try await records.transfer(transferred)
            logger.notice(
                "another node delivers notifications of this one", metadata: ["count": "\(transferred.count)"])
        }
        let waiting = Set(pending.map(\.entry.id))
        try await takeOver(own.filter { !waiting.contains($0.id) })
    }

    /// Adds the notifications that a lost node had not delivered to the outbox, and removes those that are delivered from the
    /// directory.
    private func takeOver(_ notifications: [ClusterNotification]) async throws(RecordsError) {
        guard !notifications.isEmpty else { return }
        var entries: [OutboxEntry] = []
        for notification in notifications {
            if let entry = try? JSONDecoder().decode(OutboxEntry.self, from: notification.content) {
                entries.append(entry)
            } else {
                cluster.withdrawNotification(notification.id)
            }
        }
        let delivered = try await records.takeOver(entries)
        for id in delivered { cluster.withdrawNotification(id) }
        guard delivered.count < entries.count else { return }
        webhooks.wake()
        logger.notice(
            "notifications of a lost node are delivered by this one",
            metadata: ["count": "\(entries.count - delivered.count)"])
    }
}

extension ClusterValue {
    /// Creates the value for other nodes; nil if it is too large.
    fileprivate init?(_ value: ClusterValueRecord) {
        guard (value.content?.count ?? 0) <= Self.maximumSize else { return nil }
        let kind: Kind =
            switch value.kind {
            case .application: .application
            case .streamKey: .streamKey
            case .callback: .callback
            }
        self.init(
            kind: kind, application: value.application.description, name: value.name,
            version: StreamEpoch(number: value.version.number, claim: value.version.claim), content: value.content)
    }
}

extension ClusterValueRecord {
    /// Creates the value of the database.
    fileprivate init(_ value: ClusterValue) {
        let kind: Kind =
            switch value.kind {
            case .application: .application
            case .streamKey: .streamKey
            case .callback: .callback
            }
        self.init(
            kind: kind, application: ApplicationID(value.application), name: value.name,
            version: Version(number: value.version.number, claim: value.version.claim), content: value.content)
    }
}
