import Foundation
internal import GRDB
public import PCastCore

extension Records {
    /// Returns the active applications of the configuration, ordered by identifier.
    ///
    /// - Throws: ``RecordsError``, also if a secret was encrypted with another key.
    public func applications() async throws(RecordsError) -> [ApplicationRecord] {
        try await applications(areAdded: false)
    }

    /// Returns the active applications that the management API has added, ordered by identifier.
    ///
    /// - Throws: ``RecordsError``, also if a secret was encrypted with another key.
    package func addedApplications() async throws(RecordsError) -> [ApplicationRecord] {
        try await applications(areAdded: true)
    }

    private func applications(areAdded: Bool) async throws(RecordsError) -> [ApplicationRecord] {
        try await read { [key, path] db in
            try Row.fetchAll(
                db, sql: "SELECT id, secret FROM application WHERE isActive = 1 AND isAdded = ? ORDER BY id",
                arguments: [areAdded]
            ).map { row in
                let id: String = row["id"]
                let sealed: [UInt8] = Array(row["secret"] as Data)
                guard let secret = key.open(sealed, for: Self.context(id)) else {
                    throw RecordsError.key(path: path, reason: "it is another key")
                }
                return ApplicationRecord(id: ApplicationID(id), secret: String(decoding: secret, as: UTF8.self))
            }
        }
    }

    /// Replaces the active applications of the configuration. The data of the others remains in the database. An added
    /// application with the same identifier becomes one of the configuration.
    ///
    /// - Throws: ``RecordsError``.
    public func setApplications(_ applications: [ApplicationRecord], at now: WallTime) async throws(RecordsError) {
        let sealed = applications.map { application in
            let id = application.id.description
            return (id, Data(key.seal(Array(application.secret.utf8), for: Self.context(id))))
        }
        try await write { db in
            try db.execute(sql: "UPDATE application SET isActive = 0 WHERE isAdded = 0")
            for (id, secret) in sealed {
                try db.execute(
                    sql: """
                        INSERT INTO application (id, secret, isActive, created) VALUES (?, ?, 1, ?)
                        ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, isActive = 1, isAdded = 0
                        """, arguments: [id, secret, now.millisecondsSinceEpoch])
            }
        }
    }

    /// Adds an application that the configuration does not contain, or replaces its secret.
    ///
    /// - Throws: ``RecordsError``.
    package func setAddedApplication(_ application: ApplicationRecord, at now: WallTime) async throws(RecordsError) {
        let id = application.id.description
        let secret = Data(key.seal(Array(application.secret.utf8), for: Self.context(id)))
        try await write { db in
            try db.execute(
                sql: """
                    INSERT INTO application (id, secret, isActive, created, isAdded) VALUES (?, ?, 1, ?, 1)
                    ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, isActive = 1, isAdded = 1
                    """, arguments: [id, secret, now.millisecondsSinceEpoch])
        }
    }

    /// Deactivates an application that the management API has added. Its data remains in the database.
    ///
    /// - Throws: ``RecordsError``.
    package func removeAddedApplication(_ id: ApplicationID) async throws(RecordsError) {
        try await write { db in
            try db.execute(
                sql: "UPDATE application SET isActive = 0 WHERE id = ? AND isAdded = 1", arguments: [id.description])
        }
    }

    // MARK: Revoked tokens

    /// Returns the times at which the revoked tokens expire, by the keys of the revocations. Those that have expired are left
    /// out.
    ///
    /// - Throws: ``RecordsError``.
    package func tokenRevocations(at now: WallTime) async throws(RecordsError) -> [String: WallTime] {
        try await read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT token, expires FROM tokenRevocation WHERE expires > ?",
                arguments: [now.millisecondsSinceEpoch])
            return Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    (row["token"] as String, WallTime(millisecondsSinceEpoch: row["expires"]))
                })
        }
    }

    /// Stores the revocation of a token, and removes those of tokens that have expired.
    ///
    /// - Throws: ``RecordsError``.
    package func addTokenRevocation(
        _ token: String, until expires: WallTime, at now: WallTime
    ) async throws(RecordsError) {
        try await write { db in
            try db.execute(
                sql: "DELETE FROM tokenRevocation WHERE expires <= ?", arguments: [now.millisecondsSinceEpoch])
            try db.execute(
                sql: """
                    INSERT INTO tokenRevocation (token, expires) VALUES (?, ?)
                    ON CONFLICT (token) DO UPDATE SET expires = max(expires, excluded.expires)
                    """, arguments: [token, expires.millisecondsSinceEpoch])
        }
    }

    // MARK: Limits

    /// Returns the limits of the platform that the management API has set, by name.
    ///
    /// - Throws: ``RecordsError``.
    package func platformLimits() async throws(RecordsError) -> [String: Int64] {
        try await read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT name, value FROM platformLimit")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"] as String, $0["value"] as Int64) })
        }
    }

    /// Stores a limit of the platform; nil removes it.
    ///
    /// - Throws: ``RecordsError``.
    package func setPlatformLimit(_ name: String, _ value: Int64?) async throws(RecordsError) {
        try await write { db in
            guard let value else {
                return try db.execute(sql: "DELETE FROM platformLimit WHERE name = ?", arguments: [name])
            }
            try db.execute(
                sql: """
                    INSERT INTO platformLimit (name, value) VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """, arguments: [name, value])
        }
    }

    // MARK: Secrets

    /// Decrypts all secrets, so that a wrong key is found at the start and not at the first token.
    ///
    /// - Throws: ``RecordsError/key(path:reason:)`` if a secret was encrypted with another key.
    func checkSecrets(_ keyPath: String) throws {
        let all = try database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT id AS context, secret FROM application
                    UNION ALL SELECT application || ' ' || name, secret FROM callback
                    UNION ALL SELECT application || ? || name, secret FROM streamKey
                    UNION ALL SELECT application || ? || name, body FROM declaration
                    """, arguments: [StreamKeyRecord.contextMark, DeclarationRecord.contextMark]
            ).map { row in (row["context"] as String, Array(row["secret"] as Data)) }
        }
        for (context, sealed) in all where key.open(sealed, for: Self.context(context)) == nil {
            throw RecordsError.key(path: keyPath, reason: "the secrets were encrypted with another key")
        }
    }

    static func context(_ owner: String) -> String { "pcast secret of " + owner }
}

/// An application and the secret that signs its tokens.
public struct ApplicationRecord: Sendable, Hashable {
    /// The identifier of the application.
    public var id: ApplicationID
    /// The secret that signs its tokens.
    public var secret: String

    /// Creates a record.
    public init(id: ApplicationID, secret: String) {
        self.id = id
        self.secret = secret
    }
}

extension ApplicationRecord: CustomStringConvertible {
    /// The identifier without the secret.
    public var description: String { "application \(id)" }
}
