import Foundation
internal import GRDB
public import PCastCore

extension Records {
    /// The SQL condition of the oldest pending delivery of each stream and callback. The others wait for it, so that
    /// notifications arrive in order.
    private static let oldestPending = """
        d.state = 'pending' AND NOT EXISTS (
            SELECT 1 FROM delivery e WHERE e.state = 'pending' AND e.callback = d.callback AND e.stream = d.stream
            AND e.notification < d.notification)
        """

    /// Returns the deliveries that are due: the oldest pending one of each stream and callback, at most `each` per
    /// callback and `limit` in total. Those that are due longest come first.
    ///
    /// - Throws: ``RecordsError``.
    public func due(at now: WallTime, each: Int, limit: Int) async throws(RecordsError) -> [DueDelivery] {
        try await read { [self] db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT f.*, n.id AS message, n.body, c.application, c.name, c.uri, c.method, c.secret FROM (
                        SELECT d.*, row_number() OVER (PARTITION BY callback ORDER BY due, notification) AS line
                        FROM delivery d WHERE d.due <= ? AND \(Self.oldestPending)
                    ) f JOIN notification n ON n.number = f.notification JOIN callback c ON c.number = f.callback
                    WHERE f.line <= ? ORDER BY f.due, f.notification LIMIT ?
                    """, arguments: [now.millisecondsSinceEpoch, each, limit]
            ).map { row in
                DueDelivery(
                    outboxKey: .init(notification: row["notification"], callback: row["callback"]), id: row["message"],
                    stream: StreamID(row["stream"]), body: Array(row["body"] as Data), callback: try callback(row),
                    attempts: row["attempts"])
            }
        }
    }

    /// Returns the time at which the next delivery is due that is not due already; nil if there is none.
    ///
    /// - Throws: ``RecordsError``.
    public func nextDue(after now: WallTime) async throws(RecordsError) -> WallTime? {
        try await read { db in
            Self.time(
                try Int64.fetchOne(
                    db, sql: "SELECT min(due) FROM delivery d WHERE due > ? AND \(Self.oldestPending)",
                    arguments: [now.millisecondsSinceEpoch]))
        }
    }

    /// The result of an attempt to deliver a notification.
    public enum Outcome: Sendable, Hashable {
        case delivered
        /// The attempt failed, and another one follows.
        case retry(at: WallTime)
        /// The last attempt failed.
        case failed
    }

    /// Records the result of an attempt. `answer` is the HTTP status, or the reason why there was no response; at most
    /// 200 characters are stored.
    ///
    /// - Throws: ``RecordsError``.
    public func note(_ outcome: Outcome, of outboxKey: DueDelivery.OutboxKey, answer: String) async throws(RecordsError)
    {
        let (state, due): (NotificationRecord.Delivery.State, WallTime?) =
            switch outcome {
            case .delivered: (.delivered, nil)
            case .retry(let time): (.pending, time)
            case .failed: (.failed, nil)
            }
        try await write { db in
            try db.execute(
                sql: """
                    UPDATE delivery SET state = ?, attempts = attempts + 1, due = coalesce(?, due), answer = ?
                    WHERE notification = ? AND callback = ?
                    """,
                arguments: [
                    state.rawValue, due?.millisecondsSinceEpoch, String(answer.prefix(200)), outboxKey.notification,
                    outboxKey.callback,
                ])
        }
    }

    /// Schedules failed deliveries for an immediate retry and resets their attempts. A nil `id` means all failed
    /// deliveries of the application. Returns the number of deliveries.
    ///
    /// - Throws: ``RecordsError``.
    public func redeliver(
        _ id: String?, of application: ApplicationID, at now: WallTime
    ) async throws(RecordsError) -> Int {
        try await write { db in
            try db.execute(
                sql: """
                    UPDATE delivery SET state = 'pending', attempts = 0, due = ?1
                    WHERE state = 'failed' AND notification IN (
                        SELECT number FROM notification WHERE application = ?2 AND (?3 IS NULL OR id = ?3))
                    """,
                arguments: [now.millisecondsSinceEpoch, application.description, id])
            return db.changesCount
        }
    }

    /// Returns the notifications of an application, newest first. They are optionally limited to one stream, and to
    /// those that have a delivery in a state.
    ///
    /// - Throws: ``RecordsError``.
    public func notifications(
        of application: ApplicationID, stream: StreamID? = nil, state: NotificationRecord.Delivery.State? = nil,
        limit: Int
    ) async throws(RecordsError) -> [NotificationRecord] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM notification n WHERE application = ?1 AND (?2 IS NULL OR stream = ?2) AND (?3 IS NULL
                        OR EXISTS (SELECT 1 FROM delivery d WHERE d.notification = n.number AND d.state = ?3))
                    ORDER BY number DESC LIMIT ?4
                    """, arguments: [application.description, stream?.description, state?.rawValue, limit])
            return try rows.map { row in
                NotificationRecord(
                    id: row["id"], stream: StreamID(row["stream"]), name: row["name"],
                    kind: NotificationRecord.Kind(rawValue: row["what"]) ?? .ended,
                    time: WallTime(millisecondsSinceEpoch: row["time"]),
                    deliveries: try Self.deliveries(of: row["number"], db))
            }
        }
    }

    private static func deliveries(
        of number: Int64, _ db: Database
    ) throws -> [NotificationRecord.Delivery] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT d.*, c.name FROM delivery d JOIN callback c ON c.number = d.callback
                WHERE d.notification = ? ORDER BY c.name
                """, arguments: [number]
        ).map { row in
            NotificationRecord.Delivery(
                callback: row["name"], state: .init(rawValue: row["state"]) ?? .pending, attempts: row["attempts"],
                due: WallTime(millisecondsSinceEpoch: row["due"]), answer: row["answer"])
        }
    }
}
