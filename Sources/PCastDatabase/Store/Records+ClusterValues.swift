import Foundation
internal import GRDB
package import PCastCore

/// The values that all nodes of a cluster have. Their versions are in a table of their own, which triggers maintain.
extension Records {
    /// Returns all values with a version, also deleted ones. Applications of the configuration are left out: the values of
    /// other nodes with their identifiers are not in this database.
    ///
    /// - Throws: ``RecordsError``.
    package func clusterValues() async throws(RecordsError) -> [ClusterValueRecord] {
        try await read { [self] db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM clusterValue WHERE isPending = 0 AND NOT (kind = 'application'
                        AND application IN (SELECT id FROM application WHERE isAdded = 0 AND isActive = 1))
                    """
            ).compactMap { row in
                try clusterValue(row, Self.version(row), db)
            }
        }
    }

    /// Returns the values that have changed at this node, with new versions, whose numbers are above `number`.
    ///
    /// - Throws: ``RecordsError``.
    package func takeClusterChanges(above number: UInt64) async throws(RecordsError) -> [ClusterValueRecord] {
        let hasChanges = try await read { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM clusterValue WHERE isPending = 1)") ?? false
        }
        guard hasChanges else { return [] }
        return try await write { [self] db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM clusterValue WHERE isPending = 1 ORDER BY kind, application, name")
            return try rows.compactMap { row in
                let version = ClusterValueRecord.Version(
                    number: max(Self.version(row).number, number) + 1, claim: .random(in: .min ... .max))
                guard let value = try clusterValue(row, version, db) else { return nil }
                try Self.setVersion(of: value, db)
                return value
            }
        }
    }

    /// Applies a value of another node, unless this node has the same one or a newer one. Returns whether it was applied.
    ///
    /// - Throws: ``RecordsError``.
    package func apply(_ value: ClusterValueRecord, at now: WallTime) async throws(RecordsError) -> Bool {
        try await write { [self] db in
            let row = try Row.fetchOne(
                db, sql: "SELECT * FROM clusterValue WHERE kind = ? AND application = ? AND name = ?",
                arguments: [value.kind.rawValue, value.application.description, value.name])
            if let row {
                guard Self.version(row) < value.version else { return false }
                if row["isPending"] {
                    // The value has changed here, too, and gets a higher version.
                    try db.execute(
                        sql: "UPDATE clusterValue SET number = ? WHERE kind = ? AND application = ? AND name = ?",
                        arguments: [
                            Int64(clamping: value.version.number), value.kind.rawValue,
                            value.application.description, value.name,
                        ])
                    return false
                }
            }
            try store(value, at: now, db)
            // The triggers have marked it as changed.
            try Self.setVersion(of: value, db)
            return true
        }
    }

    private static func version(_ row: Row) -> ClusterValueRecord.Version {
        ClusterValueRecord.Version(
            number: UInt64(clamping: row["number"] as Int64), claim: UInt64(bitPattern: row["claim"] as Int64))
    }

    private static func setVersion(of value: ClusterValueRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO clusterValue (kind, application, name, number, claim, isPending) VALUES (?, ?, ?, ?, ?, 0)
                ON CONFLICT (kind, application, name)
                DO UPDATE SET number = excluded.number, claim = excluded.claim, isPending = 0
                """,
            arguments: [
                value.kind.rawValue, value.application.description, value.name,
                Int64(clamping: value.version.number), Int64(bitPattern: value.version.claim),
            ])
    }

    // MARK: Contents

    /// Returns the value of a row; nil if a later version of the platform has stored it.
    private func clusterValue(
        _ row: Row, _ version: ClusterValueRecord.Version, _ db: Database
    ) throws -> ClusterValueRecord? {
        guard let kind = ClusterValueRecord.Kind(rawValue: row["kind"]) else { return nil }
        let application = ApplicationID(row["application"])
        let name: String = row["name"]
        let content: Data? =
            switch kind {
            case .application: try applicationContent(application, db)
            case .streamKey: try streamKeyContent(name, application, db)
            case .callback: try callbackContent(name, application, db)
            }
        return ClusterValueRecord(
            kind: kind, application: application, name: name, version: version, content: content)
    }

    private func applicationContent(_ application: ApplicationID, _ db: Database) throws -> Data? {
        let id = application.description
        guard
            let sealed = try Data.fetchOne(
                db, sql: "SELECT secret FROM application WHERE id = ? AND isAdded = 1 AND isActive = 1",
                arguments: [id])
        else { return nil }
        guard let secret = key.open(Array(sealed), for: Self.context(id)) else {
            throw RecordsError.key(path: path, reason: "it is another key")
        }
        return try Outbox.encoded(ClusterContent.Application(secret: String(decoding: secret, as: UTF8.self)))
    }

    private func streamKeyContent(_ name: String, _ application: ApplicationID, _ db: Database) throws -> Data? {
        guard let key = try streamKey(name, of: application, db) else { return nil }
        return try Outbox.encoded(
            ClusterContent.StreamKey(
                secret: key.secret, tags: key.tags, capabilities: key.capabilities,
                bitrate: key.limits.bitrate?.bitsPerSecond, width: key.limits.width, height: key.limits.height,
                connections: key.limits.connections, created: key.created.millisecondsSinceEpoch,
                rotated: key.rotated?.millisecondsSinceEpoch))
    }

    private func callbackContent(_ name: String, _ application: ApplicationID, _ db: Database) throws -> Data? {
        let row = try Row.fetchOne(
            db, sql: "SELECT * FROM callback WHERE application = ? AND name = ?",
            arguments: [application.description, name])
        guard let callback = try row.map(callback) else { return nil }
        return try Outbox.encoded(
            ClusterContent.Callback(
                uri: callback.uri, method: callback.method.rawValue, secret: callback.secret.text))
    }

    // MARK: Storing

    private func store(_ value: ClusterValueRecord, at now: WallTime, _ db: Database) throws {
        let application = value.application.description
        guard let content = value.content else {
            switch value.kind {
            case .application:
                try db.execute(
                    sql: "UPDATE application SET isActive = 0 WHERE id = ? AND isAdded = 1", arguments: [application])
            case .streamKey:
                try db.execute(
                    sql: "DELETE FROM streamKey WHERE application = ? AND name = ?",
                    arguments: [application, value.name])
            case .callback:
                try db.execute(
                    sql: "DELETE FROM callback WHERE application = ? AND name = ?",
                    arguments: [application, value.name])
            }
            return
        }
        switch value.kind {
        case .application:
            try store(try JSONDecoder().decode(ClusterContent.Application.self, from: content), application, now, db)
        case .streamKey:
            try store(try JSONDecoder().decode(ClusterContent.StreamKey.self, from: content), value, db)
        case .callback:
            try store(try JSONDecoder().decode(ClusterContent.Callback.self, from: content), value, db)
        }
    }

    /// Stores an application. One of the configuration is not changed.
    private func store(
        _ content: ClusterContent.Application, _ application: String, _ now: WallTime, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO application (id, secret, isActive, created, isAdded) VALUES (?, ?, 1, ?, 1)
                ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, isActive = 1, isAdded = 1
                WHERE isAdded = 1 OR isActive = 0
                """,
            arguments: [
                application, Data(key.seal(Array(content.secret.utf8), for: Self.context(application))),
                now.millisecondsSinceEpoch,
            ])
    }

    private func store(_ content: ClusterContent.StreamKey, _ value: ClusterValueRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO streamKey (
                    application, name, fingerprint, secret, tags, capabilities, created, rotated, bitrateLimit,
                    widthLimit, heightLimit, connectionLimit
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (application, name) DO UPDATE SET
                    fingerprint = excluded.fingerprint, secret = excluded.secret, tags = excluded.tags,
                    capabilities = excluded.capabilities, created = excluded.created, rotated = excluded.rotated,
                    bitrateLimit = excluded.bitrateLimit, widthLimit = excluded.widthLimit,
                    heightLimit = excluded.heightLimit, connectionLimit = excluded.connectionLimit
                """,
            arguments: [
                value.application.description, value.name, fingerprint(of: content.secret),
                sealed(content.secret, value.name, value.application), StringList.text(content.tags),
                StringList.text(content.capabilities), content.created, content.rotated, content.bitrate,
                content.width, content.height, content.connections,
            ])
    }

    private func store(_ content: ClusterContent.Callback, _ value: ClusterValueRecord, _ db: Database) throws {
        guard let secret = SigningSecret(content.secret),
            let method = CallbackRecord.Method(rawValue: content.method)
        else { throw DatabaseError(resultCode: .SQLITE_MISMATCH, message: "a webhook of another node is invalid") }
        let application = value.application.description
        try db.execute(
            sql: """
                INSERT INTO callback (application, name, uri, method, secret) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (application, name) DO UPDATE
                SET uri = excluded.uri, method = excluded.method, secret = excluded.secret
                """,
            arguments: [
                application, value.name, content.uri, method.rawValue,
                Data(key.seal(secret.bytes, for: Self.context("\(application) \(value.name)"))),
            ])
    }
}
