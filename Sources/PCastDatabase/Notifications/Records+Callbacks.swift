import Foundation
internal import GRDB
public import PCastCore

extension Records {
    /// The maximum number of callbacks of an application.
    public static let callbackLimit = 16

    /// Returns the callbacks of an application, ordered by name.
    ///
    /// - Throws: ``RecordsError``.
    public func callbacks(of application: ApplicationID) async throws(RecordsError) -> [CallbackRecord] {
        try await read { [self] db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM callback WHERE application = ? ORDER BY name",
                arguments: [application.description]
            ).map(callback)
        }
    }

    /// Adds a callback, or updates the one with the same name. Pending notifications are then sent to the new URI.
    ///
    /// If `secret` is nil, an existing secret remains, and a new callback gets a random one. Returns nil if the
    /// application already has ``callbackLimit`` callbacks.
    ///
    /// - Throws: ``RecordsError``.
    public func setCallback(
        _ name: String, of application: ApplicationID, uri: String, method: CallbackRecord.Method,
        secret: SigningSecret?
    ) async throws(RecordsError) -> CallbackRecord? {
        try await write { [self] db in
            let own = try Row.fetchAll(
                db, sql: "SELECT * FROM callback WHERE application = ?", arguments: [application.description]
            ).map(callback)
            let old = own.first { $0.name == name }
            guard old != nil || own.count < Self.callbackLimit else { return nil }
            let made = CallbackRecord(
                application: application, name: name, uri: uri, method: method,
                secret: secret ?? old?.secret ?? .random())
            try db.execute(
                sql: """
                    INSERT INTO callback (application, name, uri, method, secret) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (application, name) DO UPDATE
                    SET uri = excluded.uri, method = excluded.method, secret = excluded.secret
                    """,
                arguments: [
                    application.description, name, uri, method.rawValue,
                    Data(key.seal(made.secret.bytes, for: Self.context("\(application) \(name)"))),
                ])
            return made
        }
    }

    /// Removes a callback and its pending notifications. Returns whether the callback existed.
    ///
    /// - Throws: ``RecordsError``.
    public func removeCallback(_ name: String, of application: ApplicationID) async throws(RecordsError) -> Bool {
        try await write { db in
            try db.execute(
                sql: "DELETE FROM callback WHERE application = ? AND name = ?",
                arguments: [application.description, name])
            return db.changesCount > 0
        }
    }

    func callback(_ row: Row) throws -> CallbackRecord {
        let application: String = row["application"]
        let name: String = row["name"]
        let sealed = Array(row["secret"] as Data)
        guard let bytes = key.open(sealed, for: Self.context("\(application) \(name)")),
            let secret = SigningSecret(bytes)
        else { throw RecordsError.key(path: path, reason: "it is another key") }
        return CallbackRecord(
            application: ApplicationID(application), name: name, uri: row["uri"],
            method: CallbackRecord.Method(rawValue: row["method"]) ?? .post, secret: secret)
    }
}
