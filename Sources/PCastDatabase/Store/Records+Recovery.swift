internal import GRDB
public import PCastCore

extension Records {
    /// Returns the last time at which the platform was known to be running; nil for a new database.
    ///
    /// - Throws: ``RecordsError``.
    public func lastSeen() async throws(RecordsError) -> WallTime? {
        try await read { db in Self.time(try Int64.fetchOne(db, sql: "SELECT seen FROM life")) }
    }

    /// Ends the streams and viewings that a killed platform left open, with the reason `failed`. Returns the ended
    /// streams.
    ///
    /// Their end is the time `seen`, or the last known time of the stream if that is later. Streams in `sparing` may
    /// resume and do not end, but viewings without a session do.
    ///
    /// - Throws: ``RecordsError``.
    @discardableResult
    public func endAbandoned(
        at seen: WallTime, sparing: Set<StreamID> = []
    ) async throws(RecordsError) -> [StreamID] {
        try await write { db in
            let open = try Row.fetchAll(
                db, sql: "SELECT id, starting, started FROM stream WHERE ended IS NULL ORDER BY number")
            var ended: [StreamID] = []
            for row in open where !sparing.contains(StreamID(row["id"])) {
                let id = StreamID(row["id"])
                let heard = WallTime(millisecondsSinceEpoch: row["started"] ?? row["starting"])
                try Self.end(id, at: max(seen, heard), reason: "failed", ViewerCounts(), db)
                try db.execute(
                    sql:
                        "UPDATE viewing SET ended = max(?, began), reason = 'failed' WHERE stream = ? AND ended IS NULL",
                    arguments: [seen.millisecondsSinceEpoch, id.description])
                ended.append(id)
            }
            try db.execute(
                sql:
                    "UPDATE viewing SET ended = max(?, began), reason = 'failed' WHERE session IS NULL AND ended IS NULL",
                arguments: [seen.millisecondsSinceEpoch])
            return ended
        }
    }

    /// Returns the streams and viewings that a killed platform left open and that may resume: started streams, and
    /// their viewings with a session.
    ///
    /// - Throws: ``RecordsError``.
    public func interrupted() async throws(RecordsError) -> (streams: [StreamRecord], viewings: [ViewingRecord]) {
        try await read { db in
            let streams = try Row.fetchAll(
                db, sql: "SELECT * FROM stream WHERE ended IS NULL AND started IS NOT NULL ORDER BY number"
            ).map(Self.stream)
            let viewings = try Row.fetchAll(
                db,
                sql: """
                    SELECT v.* FROM viewing v JOIN stream s ON s.id = v.stream
                    WHERE v.ended IS NULL AND v.session IS NOT NULL AND s.ended IS NULL AND s.started IS NOT NULL
                    ORDER BY v.number
                    """
            ).map(Self.viewing)
            return (streams, viewings)
        }
    }

    /// Deletes streams, viewings and sessions that ended before a time, and their notifications, except those with
    /// pending deliveries.
    ///
    /// - Throws: ``RecordsError``.
    public func discard(before time: WallTime) async throws(RecordsError) {
        let limit = time.millisecondsSinceEpoch
        try await write { db in
            try db.execute(
                sql: """
                    DELETE FROM notification WHERE time < ? AND NOT EXISTS (
                        SELECT 1 FROM delivery d WHERE d.notification = number AND d.state = 'pending')
                    AND NOT EXISTS (SELECT 1 FROM stream s WHERE s.id = stream AND s.ended IS NULL)
                    """, arguments: [limit])
            for table in ["viewing", "stream", "session"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE ended < ?", arguments: [limit])
            }
        }
    }

    /// Deletes old data so that the newest `count` ended streams remain, with their viewings and notifications.
    ///
    /// - Throws: ``RecordsError``.
    public func discard(keeping count: Int) async throws(RecordsError) {
        let oldest = try await read { db in
            try Int64.fetchOne(
                db, sql: "SELECT ended FROM stream WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET ?",
                arguments: [count])
        }
        if let oldest { try await discard(before: WallTime(millisecondsSinceEpoch: oldest + 1)) }
    }
}
