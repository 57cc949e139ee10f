internal import GRDB
package import PCastCore

/// A room or channel that an application's backend has created. Its members are not stored.
package struct RoomRecord: Hashable, Sendable {
    /// The identifier of the room.
    package var id: String
    /// The application of the room.
    package var application: ApplicationID
    /// The alias, which is unique in the application.
    package var alias: String
    /// The name for people.
    package var name: String
    /// The description for people.
    package var description: String
    /// The type, such as `Channel`.
    package var type: String
    /// The options for clients.
    package var options: [String]

    /// Creates a record.
    package init(
        id: String, application: ApplicationID, alias: String, name: String, description: String, type: String,
        options: [String]
    ) {
        self.id = id
        self.application = application
        self.alias = alias
        self.name = name
        self.description = description
        self.type = type
        self.options = options
    }
}

extension Records {
    /// Returns the rooms of all applications.
    ///
    /// - Throws: ``RecordsError``.
    package func rooms() async throws(RecordsError) -> [RoomRecord] {
        try await read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM room ORDER BY id").map { row in
                RoomRecord(
                    id: row["id"], application: ApplicationID(row["application"]), alias: row["alias"],
                    name: row["name"], description: row["description"], type: row["type"],
                    options: StringList.list(row["options"]))
            }
        }
    }

    /// Adds a room, or changes the one with the same identifier. It replaces one with the same alias.
    ///
    /// - Throws: ``RecordsError``.
    package func setRoom(_ room: RoomRecord) async throws(RecordsError) {
        try await write { db in
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO room (id, application, alias, name, description, type, options)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    room.id, room.application.description, room.alias, room.name, room.description, room.type,
                    StringList.text(room.options),
                ])
        }
    }

    /// Removes a room.
    ///
    /// - Throws: ``RecordsError``.
    package func removeRoom(_ id: String) async throws(RecordsError) {
        try await write { db in try db.execute(sql: "DELETE FROM room WHERE id = ?", arguments: [id]) }
    }
}
