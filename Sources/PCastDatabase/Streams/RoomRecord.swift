import Foundation
internal import GRDB
public import PCastCore

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

    /// Removes a room with its messages.
    ///
    /// - Throws: ``RecordsError``.
    package func removeRoom(_ id: String) async throws(RecordsError) {
        try await write { db in
            try db.execute(sql: "DELETE FROM room WHERE id = ?", arguments: [id])
            try db.execute(sql: "DELETE FROM roomMessage WHERE room = ?", arguments: [id])
        }
    }
}

/// A message of a room's conversation.
public struct RoomMessageRecord: Hashable, Sendable {
    /// The identifier of the room.
    public var room: String
    /// The identifier of the message, which is greater than those of earlier messages of the room.
    public var id: String
    /// The time at which the platform received the message.
    public var time: WallTime
    /// The session of the author; nil for a message of the application's backend.
    public var session: SessionID?
    /// The name of the author.
    public var screenName: String
    /// The number of the author's role in the protocol.
    public var role: Int
    /// The number of the author's last change.
    public var lastUpdate: UInt64
    /// The text of the message.
    public var text: String

    /// Creates a record.
    public init(
        room: String, id: String, time: WallTime, session: SessionID?, screenName: String, role: Int,
        lastUpdate: UInt64, text: String
    ) {
        self.room = room
        self.id = id
        self.time = time
        self.session = session
        self.screenName = screenName
        self.role = role
        self.lastUpdate = lastUpdate
        self.text = text
    }
}

extension Records {
    /// Returns messages of a room between two identifiers, both excluded, oldest first. Without a lower bound, they are the
    /// newest ones, otherwise the oldest ones.
    ///
    /// - Throws: ``RecordsError``.
    package func roomMessages(
        of room: String, after lower: String? = nil, before upper: String? = nil, limit: Int
    ) async throws(RecordsError) -> [RoomMessageRecord] {
        try await read { db in
            let bounds = (lower == nil ? "" : " AND id > :lower") + (upper == nil ? "" : " AND id < :upper")
            var arguments: StatementArguments = ["room": room, "limit": limit]
            if let lower { arguments += ["lower": lower] }
            if let upper { arguments += ["upper": upper] }
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM roomMessage WHERE room = :room\(bounds)
                    ORDER BY id \(lower == nil ? "DESC" : "ASC") LIMIT :limit
                    """, arguments: arguments)
            let messages = rows.map { row in
                let session: String? = row["session"]
                let lastUpdate: Int64 = row["lastUpdate"]
                let (name, text): (Data, Data) = (row["screenName"], row["text"])
                return RoomMessageRecord(
                    room: row["room"], id: row["id"], time: WallTime(millisecondsSinceEpoch: row["time"]),
                    session: session.map { SessionID($0) }, screenName: String(decoding: name, as: UTF8.self),
                    role: row["role"],
                    lastUpdate: UInt64(max(lastUpdate, 0)), text: String(decoding: text, as: UTF8.self))
            }
            return lower == nil ? messages.reversed() : messages
        }
    }

    /// Returns whether messages of any room are stored.
    ///
    /// - Throws: ``RecordsError``.
    package func hasRoomMessages() async throws(RecordsError) -> Bool {
        try await read { db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM roomMessage)") ?? false }
    }

    /// Stores a message, unless its room is not stored or was removed meanwhile.
    static func insert(_ message: RoomMessageRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO roomMessage (room, id, time, session, screenName, role, lastUpdate, text)
                SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM room WHERE id = ?)
                ON CONFLICT (room, id) DO NOTHING
                """,
            arguments: [
                message.room, message.id, message.time.millisecondsSinceEpoch, message.session?.description,
                Data(message.screenName.utf8), message.role, Int64(clamping: message.lastUpdate),
                Data(message.text.utf8), message.room,
            ])
    }

    /// Deletes the messages before a time; all messages if it is nil.
    static func discardMessages(before limit: WallTime?, _ db: Database) throws {
        guard let limit else { return try db.execute(sql: "DELETE FROM roomMessage") }
        try db.execute(sql: "DELETE FROM roomMessage WHERE time < ?", arguments: [limit.millisecondsSinceEpoch])
    }
}
