import Foundation
internal import GRDB
import PCastCore

/// The notifications that another node of a cluster delivers if this one is lost.
extension Records {
    /// Returns the notifications with a pending delivery and their numbers, the oldest ones first.
    ///
    /// - Throws: ``RecordsError``.
    package func pendingNotifications(
        limit: Int
    ) async throws(RecordsError) -> [(number: Int64, entry: OutboxEntry)] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT n.*, d.stream AS queue FROM (
                        SELECT notification, min(stream) AS stream FROM delivery WHERE state = 'pending'
                        GROUP BY notification ORDER BY notification LIMIT ?
                    ) d JOIN notification n ON n.number = d.notification ORDER BY n.number
                    """, arguments: [limit]
            ).map { row in
                let entry = OutboxEntry(
                    id: row["id"], application: row["application"], stream: row["stream"], name: row["name"],
                    queue: row["queue"], kind: row["what"], body: row["body"], time: row["time"])
                return (row["number"], entry)
            }
        }
    }

    /// Adds notifications of another node to the outbox, in their order, unless they are there already. Returns the
    /// identifiers of those without a pending delivery, which need not be kept by other nodes.
    ///
    /// - Throws: ``RecordsError``.
    package func takeOver(_ entries: [OutboxEntry]) async throws(RecordsError) -> [String] {
        try await write { db in
            try entries.compactMap { entry -> String? in
                if let kind = NotificationRecord.Kind(rawValue: entry.kind) {
                    try Outbox.add(
                        id: entry.id, of: ApplicationID(entry.application), stream: entry.stream, name: entry.name,
                        queue: entry.queue, kind, entry.body, at: WallTime(millisecondsSinceEpoch: entry.time), db)
                }
                let isPending =
                    try Bool.fetchOne(
                        db,
                        sql: """
                            SELECT EXISTS (
                                SELECT 1 FROM delivery d JOIN notification n ON n.number = d.notification
                                WHERE n.id = ? AND d.state = 'pending')
                            """, arguments: [entry.id]) ?? false
                return isPending ? nil : entry.id
            }
        }
    }

    /// Records that another node delivers notifications, so that this one does not.
    ///
    /// - Throws: ``RecordsError``.
    package func transfer(_ ids: [String]) async throws(RecordsError) {
        try await write { db in
            for id in ids {
                try db.execute(
                    sql: """
                        UPDATE delivery SET state = 'delivered', answer = 'another node' WHERE state = 'pending'
                            AND notification IN (SELECT number FROM notification WHERE id = ?)
                        """, arguments: [id])
            }
        }
    }
}
