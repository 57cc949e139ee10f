internal import GRDB
import PCastCore

extension Records {
    /// Returns the newest sessions, at most `limit`, that had not ended when the platform stopped. Their clients may
    /// resume them.
    ///
    /// - Throws: ``RecordsError``.
    public func openSessions(limit: Int) async throws(RecordsError) -> [SessionRecord] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT id, application, opened, owner FROM session WHERE ended IS NULL ORDER BY opened DESC LIMIT ?",
                arguments: [limit]
            ).map { row in
                SessionRecord(
                    id: SessionID(row["id"]), application: ApplicationID(row["application"]),
                    opened: WallTime(millisecondsSinceEpoch: row["opened"]), owner: row["owner"])
            }
        }
    }
}
