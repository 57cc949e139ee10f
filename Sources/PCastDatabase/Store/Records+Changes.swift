import Foundation
internal import GRDB
import PCastCore

extension Records {
    /// Writes changes in one transaction. When the function returns, all of them are on the disk.
    ///
    /// - Throws: ``RecordsError`` if none of the changes was written.
    public func record(_ changes: [RecordChange]) async throws(RecordsError) {
        try await write { db in
            for change in changes { try Self.apply(change, db) }
        }
    }

    private static func apply(_ change: RecordChange, _ db: Database) throws {
        switch change {
        case .streamStarting(let stream):
            try insert(stream, db)
            try StreamNotification(.starting, of: stream, at: stream.starting).post(db)
        case .streamStarted(let id, let time):
            try db.execute(
                sql: "UPDATE stream SET started = ? WHERE id = ? AND started IS NULL AND ended IS NULL",
                arguments: [time.millisecondsSinceEpoch, id.description])
            if let stream = try self.stream(id, db), stream.ended == nil {
                try StreamNotification(.started, of: stream, at: time).post(db)
            }
        case .streamEnded(let id, let time, let reason, let counts):
            try end(id, at: time, reason: reason, counts, db)
        case .streamMoved(let id, let session):
            try db.execute(
                sql: "UPDATE stream SET session = ? WHERE id = ?", arguments: [session?.description, id.description])
        case .viewingBegan(let viewing): try insert(viewing, db)
        case .viewingEnded(let id, let time, let reason):
            try db.execute(
                sql: "UPDATE viewing SET ended = ?, reason = ? WHERE id = ? AND ended IS NULL",
                arguments: [time.millisecondsSinceEpoch, reason, id.description])
        case .sessionOpened(let session):
            try db.execute(
                sql: """
                    INSERT INTO session (id, application, opened, owner) VALUES (?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET ended = NULL
                    """,
                arguments: [
                    session.id.description, session.application.description, session.opened.millisecondsSinceEpoch,
                    session.owner,
                ])
        case .sessionEnded(let id, let time):
            try db.execute(
                sql: "UPDATE session SET ended = ? WHERE id = ? AND ended IS NULL",
                arguments: [time.millisecondsSinceEpoch, id.description])
        case .alive(let time, let counts):
            try db.execute(
                sql: "INSERT INTO life (one, seen) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET seen = excluded.seen",
                arguments: [time.millisecondsSinceEpoch])
            for (id, counts) in counts { try note(counts, of: id, db) }
        }
    }

    private static func insert(_ stream: StreamRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO stream
                    (id, application, session, tags, capabilities, starting, views, mostViewers, publisher)
                VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?) ON CONFLICT (id) DO NOTHING
                """,
            arguments: [
                stream.id.description, stream.application.description, stream.session?.description,
                StringList.text(stream.tags), StringList.text(stream.capabilities),
                stream.starting.millisecondsSinceEpoch, stream.publisher,
            ])
    }

    private static func insert(_ viewing: ViewingRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO viewing (id, stream, application, session, tags, began) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO NOTHING
                """,
            arguments: [
                viewing.id.description, viewing.stream.description, viewing.application.description,
                viewing.session?.description, StringList.text(viewing.tags), viewing.began.millisecondsSinceEpoch,
            ])
    }

    /// Records the end of a stream once. A second end is ignored.
    static func end(
        _ id: StreamID, at time: WallTime, reason: String, _ counts: ViewerCounts, _ db: Database
    ) throws {
        try note(counts, of: id, db)
        try db.execute(
            sql: "UPDATE stream SET ended = ?, reason = ? WHERE id = ? AND ended IS NULL",
            arguments: [time.millisecondsSinceEpoch, reason, id.description])
        guard db.changesCount > 0, let stream = try stream(id, db) else { return }
        try StreamNotification(.ended, of: stream, at: time).post(db)
    }

    private static func note(_ counts: ViewerCounts, of id: StreamID, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE stream SET views = max(views, ?), mostViewers = max(mostViewers, ?)
                WHERE id = ? AND ended IS NULL
                """,
            arguments: [counts.views, counts.mostViewers, id.description])
    }
}
