import Foundation
internal import GRDB
package import PCastCore

extension Records {
    /// The maximum number of stream keys of an application.
    package static let streamKeyLimit = 10_000

    /// Returns the stream keys of an application, ordered by name.
    ///
    /// - Throws: ``RecordsError``.
    package func streamKeys(of application: ApplicationID) async throws(RecordsError) -> [StreamKeyRecord] {
        try await read { [self] db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM streamKey WHERE application = ? ORDER BY name",
                arguments: [application.description]
            ).map(streamKey)
        }
    }

    /// Returns the stream key of an application with a name; nil if there is none.
    ///
    /// - Throws: ``RecordsError``.
    package func streamKey(
        _ name: String, of application: ApplicationID
    ) async throws(RecordsError) -> StreamKeyRecord? {
        try await read { [self] db in try streamKey(name, of: application, db) }
    }

    /// Returns the stream key that an encoder has sent; nil if it is unknown or revoked.
    ///
    /// - Throws: ``RecordsError``.
    package func streamKey(matching secret: String) async throws(RecordsError) -> StreamKeyRecord? {
        let fingerprint = fingerprint(of: secret)
        return try await read { [self] db in
            try Row.fetchOne(db, sql: "SELECT * FROM streamKey WHERE fingerprint = ?", arguments: [fingerprint])
                .map(streamKey)
        }
    }

    /// Returns the stream keys of all applications, for decisions that must not wait for the database.
    ///
    /// - Throws: ``RecordsError``.
    package func streamKeyIndex() async throws(RecordsError) -> StreamKeyIndex {
        let keys = try await read { [self] db in
            try Row.fetchAll(db, sql: "SELECT * FROM streamKey").map { row in
                (row["fingerprint"] as Data, try streamKey(row))
            }
        }
        return StreamKeyIndex(
            keys: Dictionary(keys, uniquingKeysWith: { first, _ in first }),
            fingerprint: { [self] in fingerprint(of: $0) })
    }

    /// Creates a stream key with a random secret, or changes the tags, capabilities and limits of the one with the same
    /// name. Returns nil if the application already has ``streamKeyLimit`` keys.
    ///
    /// - Throws: ``RecordsError``.
    package func setStreamKey(
        _ name: String, of application: ApplicationID, tags: [String], capabilities: [String],
        limits: StreamKeyLimits = StreamKeyLimits(), at now: WallTime
    ) async throws(RecordsError) -> StreamKeyRecord? {
        try await write { [self] db in
            if try streamKey(name, of: application, db) != nil {
                try db.execute(
                    sql: """
                        UPDATE streamKey SET tags = ?, capabilities = ?, bitrateLimit = ?, widthLimit = ?,
                            heightLimit = ?, connectionLimit = ?
                        WHERE application = ? AND name = ?
                        """,
                    arguments: [
                        StringList.text(tags), StringList.text(capabilities), limits.bitrate?.bitsPerSecond,
                        limits.width, limits.height, limits.connections, application.description, name,
                    ])
                return try streamKey(name, of: application, db)
            }
            let count =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM streamKey WHERE application = ?",
                    arguments: [application.description]) ?? 0
            guard count < Self.streamKeyLimit else { return nil }
            let secret = RandomName.make(prefix: StreamKeyRecord.prefix)
            try db.execute(
                sql: """
                    INSERT INTO streamKey (
                        application, name, fingerprint, secret, tags, capabilities, created, bitrateLimit, widthLimit,
                        heightLimit, connectionLimit
                    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    application.description, name, fingerprint(of: secret), sealed(secret, name, application),
                    StringList.text(tags), StringList.text(capabilities), now.millisecondsSinceEpoch,
                    limits.bitrate?.bitsPerSecond, limits.width, limits.height, limits.connections,
                ])
            return try streamKey(name, of: application, db)
        }
    }

    /// Replaces the secret of a stream key. Returns the key; nil if there is none with that name.
    ///
    /// - Throws: ``RecordsError``.
    package func rotateStreamKey(
        _ name: String, of application: ApplicationID, at now: WallTime
    ) async throws(RecordsError) -> StreamKeyRecord? {
        try await write { [self] db in
            let secret = RandomName.make(prefix: StreamKeyRecord.prefix)
            try db.execute(
                sql: """
                    UPDATE streamKey SET fingerprint = ?, secret = ?, rotated = ? WHERE application = ? AND name = ?
                    """,
                arguments: [
                    fingerprint(of: secret), sealed(secret, name, application), now.millisecondsSinceEpoch,
                    application.description, name,
                ])
            return try streamKey(name, of: application, db)
        }
    }

    /// Deletes a stream key. Returns whether it existed.
    ///
    /// - Throws: ``RecordsError``.
    package func revokeStreamKey(_ name: String, of application: ApplicationID) async throws(RecordsError) -> Bool {
        try await write { db in
            try db.execute(
                sql: "DELETE FROM streamKey WHERE application = ? AND name = ?",
                arguments: [application.description, name])
            return db.changesCount > 0
        }
    }

    func streamKey(_ name: String, of application: ApplicationID, _ db: Database) throws -> StreamKeyRecord? {
        try Row.fetchOne(
            db, sql: "SELECT * FROM streamKey WHERE application = ? AND name = ?",
            arguments: [application.description, name]
        ).map(streamKey)
    }

    private func streamKey(_ row: Row) throws -> StreamKeyRecord {
        let application = ApplicationID(row["application"])
        let name: String = row["name"]
        guard let secret = key.open(Array(row["secret"] as Data), for: Self.context(name, application)) else {
            throw RecordsError.key(path: path, reason: "it is another key")
        }
        let limits = StreamKeyLimits(
            bitrate: (row["bitrateLimit"] as Int64?).map { Bitrate(bitsPerSecond: $0) }, width: row["widthLimit"],
            height: row["heightLimit"], connections: row["connectionLimit"])
        return StreamKeyRecord(
            application: application, name: name, secret: String(decoding: secret, as: UTF8.self),
            tags: StringList.list(row["tags"]), capabilities: StringList.list(row["capabilities"]),
            limits: limits, created: WallTime(millisecondsSinceEpoch: row["created"]),
            rotated: Self.time(row["rotated"]))
    }

    func sealed(_ secret: String, _ name: String, _ application: ApplicationID) -> Data {
        Data(key.seal(Array(secret.utf8), for: Self.context(name, application)))
    }

    /// Returns the value by which a key is found, because each encryption of a secret gives another result.
    func fingerprint(of secret: String) -> Data {
        Data(key.fingerprint(of: Array(secret.utf8), for: "pcast stream key"))
    }

    private static func context(_ name: String, _ application: ApplicationID) -> String {
        context("\(application)\(StreamKeyRecord.contextMark)\(name)")
    }
}

/// The stream keys of all applications at one moment.
package struct StreamKeyIndex: Sendable {
    fileprivate let keys: [Data: StreamKeyRecord]
    fileprivate let fingerprint: @Sendable (String) -> Data

    /// Returns the stream key that an encoder has sent; nil if it is unknown.
    package func key(matching secret: String) -> StreamKeyRecord? { keys[fingerprint(secret)] }
}

/// The limits of a stream key; nil for none.
package struct StreamKeyLimits: Sendable, Hashable {
    /// The maximum bit rate of a stream.
    package var bitrate: Bitrate?
    /// The maximum width of the video in pixels.
    package var width: Int?
    /// The maximum height of the video in pixels.
    package var height: Int?
    /// The maximum number of publishers at the same time; nil for one.
    package var connections: Int?

    /// Creates limits.
    package init(bitrate: Bitrate? = nil, width: Int? = nil, height: Int? = nil, connections: Int? = nil) {
        (self.bitrate, self.width, self.height, self.connections) = (bitrate, width, height, connections)
    }

    /// Whether the size of the video is limited.
    package var limitsSize: Bool { width != nil || height != nil }

    /// Returns whether video of a size is within the limits.
    package func admits(_ size: Dimensions) -> Bool {
        size.width <= width ?? .max && size.height <= height ?? .max
    }
}

/// A stream key of an application, with which an encoder publishes.
package struct StreamKeyRecord: Sendable, Hashable {
    /// The application.
    package var application: ApplicationID
    /// The name that the application chose.
    package var name: String
    /// The key that the encoder sends.
    package var secret: String
    /// The tags of its streams.
    package var tags: [String]
    /// The capabilities of its streams.
    package var capabilities: [String]
    /// The limits of its streams.
    package var limits = StreamKeyLimits()
    /// The time at which it was created.
    package var created: WallTime
    /// The time at which its secret was replaced last; nil if it never was.
    package var rotated: WallTime?

    /// The beginning of each key, by which it is distinguished from a token.
    static let prefix = "key-"
    /// The text between the application and the name in the context of the encryption.
    static let contextMark = " stream key "
}

extension StreamKeyRecord: CustomStringConvertible {
    /// The application and the name without the secret.
    package var description: String { "stream key \(name) of \(application)" }
}
