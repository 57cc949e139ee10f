internal import GRDB
import Glibc
import PCastCore

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
            configuration.prepareDatabase { db in
                // Data that backends or publishers have received must survive a power failure.
                try db.execute(sql: "PRAGMA synchronous = FULL")
            }
            let database = try DatabasePool(path: path, configuration: configuration)
            chmod(path, 0o600)
            try check(database, path)
            let hasSecrets = try database.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM application) OR EXISTS (SELECT 1 FROM callback)")
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
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS room (bytes BLOB)")
            try db.execute(sql: "INSERT INTO room VALUES (zeroblob(262144))")
        }
        try database.write { db in try db.execute(sql: "DROP TABLE room") }
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
