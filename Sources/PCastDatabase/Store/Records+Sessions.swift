internal import GRDB
public import PCastCore

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

/// A session of a client with the platform.
public struct SessionRecord: Sendable, Hashable {
    /// The identifier of the session.
    public var id: SessionID
    /// The application of the session.
    public var application: ApplicationID
    /// The time at which the session began.
    public var opened: WallTime
    /// The owner of the token that began the session, who alone may resume it; nil if unknown.
    public var owner: String?

    /// Creates a record.
    public init(id: SessionID, application: ApplicationID, opened: WallTime, owner: String? = nil) {
        self.owner = owner
        self.id = id
        self.application = application
        self.opened = opened
    }
}
