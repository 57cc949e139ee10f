import Foundation
import FoundationEssentials
internal import GRDB
import Glibc
public import PCastCore

/// The persistent data of a platform in one SQLite database: applications, streams, viewings, sessions, and the outbox
/// of notifications.
///
/// Each write is a transaction that is on the disk when the function returns. Reading does not wait for writing.
public final class Records: Sendable {
    /// The path of the database, for messages.
    public let path: String
    let database: any DatabaseWriter
    let key: SealingKey
    private let lock: DirectoryLock?

    private init(path: String, database: any DatabaseWriter, key: SealingKey, lock: DirectoryLock?) {
        self.path = path
        self.database = database
        self.key = key
        self.lock = lock
    }

    /// Opens the database of a directory and migrates it to the current schema. Missing directories are created. If
    /// `keyFile` is nil, the key is `records.key` in the directory.
    ///
    /// - Throws: ``RecordsError``, whose text says what to do.
    public static func open(_ directory: String, keyFile: String? = nil) throws(RecordsError) -> Records {
        try makeDirectory(directory)
        let lock = try DirectoryLock(directory)
        let path = directory + "/records.sqlite"
        do {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = true
            configuration.busyMode = .timeout(5)
            let database = try DatabasePool(path: path, configuration: configuration)
            // Data that backends or publishers have received must survive a power failure. The pool sets NORMAL while it
            // opens the database, so this comes afterwards.
            try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
            chmod(path, 0o600)
            try check(database, path)
            let hasSecrets = try database.read { db in
                try Int.fetchOne(
                    db,
                    sql: """
                        SELECT EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM callback)
                            OR EXISTS (SELECT 1 FROM streamKey) OR EXISTS (SELECT 1 FROM declaration)
                        """)
            }
            let key = try SealingKey.load(keyFile ?? directory + "/records.key", mayMake: hasSecrets != 1)
            let records = Records(path: path, database: database, key: key, lock: lock)
            try records.checkSecrets(keyFile ?? directory + "/records.key")
            return records
        } catch {
            throw RecordsError(error, path: path)
        }
    }

    /// Returns a database in memory that ends with the process.
    ///
    /// - Throws: ``RecordsError``.
    public static func inMemory() throws(RecordsError) -> Records {
        do {
            var configuration = Configuration()
            configuration.foreignKeysEnabled = true
            let database = try DatabaseQueue(configuration: configuration)
            try Schema.migrator.migrate(database)
            return Records(path: "memory", database: database, key: .random(), lock: nil)
        } catch {
            throw RecordsError(error, path: "memory")
        }
    }

    /// The maximum size in bytes of a database that is checked completely at the start, so that the start takes less
    /// than a second.
    private static let checkedSize: Int64 = 64 << 20

    /// Checks for damage, a newer schema and a full disk at the start, so that they do not interrupt a stream later.
    private static func check(_ database: DatabasePool, _ path: String) throws {
        var status = stat()
        if stat(path, &status) == 0, status.st_size < checkedSize {
            let found = try database.read { db in try String.fetchOne(db, sql: "PRAGMA quick_check(1)") }
            if let found, found != "ok" { throw RecordsError.corrupt(path: path, reason: found) }
        }
        guard try !database.read({ db in try Schema.migrator.hasBeenSuperseded(db) }) else {
            throw RecordsError.newer(path: path)
        }
        try Schema.migrator.migrate(database)
        try database.write { db in
            // Ensures free space for the changes that are written before an administrator can react.
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS reservedSpace (bytes BLOB)")
            try db.execute(sql: "INSERT INTO reservedSpace VALUES (zeroblob(262144))")
        }
        try database.write { db in try db.execute(sql: "DROP TABLE reservedSpace") }
    }

    private static func makeDirectory(_ directory: String) throws(RecordsError) {
        var made = directory.hasPrefix("/") ? "" : "."
        for part in directory.split(separator: "/") {
            made += "/" + part
            guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            throw errno == ENOSPC
                ? .full(path: made) : .inaccessible(path: made, reason: String(cString: strerror(errno)))
        }
    }

    /// Closes the database of a directory after the last change, and lets another platform use the directory. Without it,
    /// the directory is in use until the last task that knows this object has ended.
    ///
    /// The database is closed first: a connection that remained open would write to the files of the next platform when it
    /// closes. Later calls throw ``RecordsError``. A database in memory stays open.
    public func release() {
        guard let lock else { return }
        // GRDB closes its readers last, which cannot empty the write-ahead log.
        try? database.barrierWriteWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        // Closing fails only if a statement is still in use. Its connection is then closed with this object.
        try? database.close()
        lock.release()
    }

    // MARK: Asking

    func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws(RecordsError) -> T {
        do {
            return try await database.read(body)
        } catch {
            throw RecordsError(error, path: path)
        }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws(RecordsError) -> T {
        do {
            return try await database.write(body)
        } catch {
            throw RecordsError(error, path: path)
        }
    }
}

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
        case .streamPackaged(let id, let time, let playlist):
            if let stream = try self.stream(id, db), stream.ended == nil {
                try StreamNotification(.playlist, of: stream, at: time, playlist: playlist).post(db)
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
        case .nameChanged(let event): try event.post(db)
        case .roomMessage(let message): try insert(message, db)
        case .roomMessagesExpired(let limit): try discardMessages(before: limit, db)
        case .recording(let change): try apply(change, db)
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
                let lastKnownTime = WallTime(millisecondsSinceEpoch: row["started"] ?? row["starting"])
                try Self.end(id, at: max(seen, lastKnownTime), reason: "failed", ViewerCounts(), db)
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

    /// Deletes old data so that the newest `count` ended streams remain, with their viewings and notifications, and the
    /// newest `count` notifications about names that are not pending.
    ///
    /// - Throws: ``RecordsError``.
    public func discard(keeping count: Int) async throws(RecordsError) {
        let oldest = try await read { db in
            try Int64.fetchOne(
                db, sql: "SELECT ended FROM stream WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET ?",
                arguments: [count])
        }
        if let oldest { try await discard(before: WallTime(millisecondsSinceEpoch: oldest + 1)) }
        try await write { db in
            try db.execute(
                sql: """
                    DELETE FROM notification WHERE name IS NOT NULL AND NOT EXISTS (
                        SELECT 1 FROM delivery d WHERE d.notification = number AND d.state = 'pending')
                    AND number <= (
                        SELECT n.number FROM notification n WHERE n.name IS NOT NULL
                        ORDER BY n.number DESC LIMIT 1 OFFSET ?)
                    """, arguments: [count])
        }
    }
}

/// An exclusive lock of a directory. It prevents a second platform from overwriting the database of the first one.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Locks a directory.
    ///
    /// - Throws: ``RecordsError/inUse(path:)``, ``RecordsError/inaccessible(path:reason:)`` or
    ///   ``RecordsError/full(path:)``.
    init(_ directory: String) throws(RecordsError) {
        let path = directory + "/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == ENOSPC
                ? .full(path: path) : .inaccessible(path: path, reason: String(cString: strerror(errno)))
        }
        // The kernel releases the lock when the process ends, even if it is killed.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .inUse(path: directory) }
    }

    /// Releases the lock. The descriptor stays open until the object is gone.
    func release() { _ = flock(descriptor, LOCK_UN) }

    /// Runs even if the initializer throws, because all properties are set by then. The initializer must not close the
    /// descriptor itself: a second `close` could hit a descriptor that another thread has opened meanwhile.
    deinit {
        guard descriptor >= 0 else { return }
        // A child process between fork and exec has a copy of the descriptor. Closing alone would leave the lock to it.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The JSON form of a list of strings, which is stored in one column.
enum StringList {
    static func text(_ list: [String]) -> String {
        (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    static func list(_ text: String) -> [String] {
        (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? []
    }
}
