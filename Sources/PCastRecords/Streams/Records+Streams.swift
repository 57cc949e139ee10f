internal import GRDB
public import PCastMedia

extension Records {
    /// A part of a long list, and where the next begins.
    public struct Page<Element: Sendable>: Sendable {
        public let elements: [Element]
        /// To be handed to the next call; nil when this is the last.
        public let next: Int64?
    }

    /// Which of an application's streams, of those that overlap the times given.
    public struct StreamSelection: Sendable {
        public var application: ApplicationID
        /// Nil for both.
        public var hasEnded: Bool?
        public var from: WallTime?
        public var to: WallTime?

        public init(_ application: ApplicationID, hasEnded: Bool? = nil, from: WallTime? = nil, to: WallTime? = nil) {
            self.application = application
            self.hasEnded = hasEnded
            self.from = from
            self.to = to
        }
    }

    /// Streams, the oldest first, or the newest.
    ///
    /// - Parameters:
    ///   - after: `next` of the page before; zero for the first.
    ///   - limit: at least 1.
    public func streams(
        _ selection: StreamSelection, newestFirst: Bool = false, after: Int64 = 0, limit: Int
    ) async throws(RecordsError) -> Page<StreamRecord> {
        let place = newestFirst && after == 0 ? Int64.max : after
        var sql = "SELECT * FROM stream WHERE application = ? AND number \(newestFirst ? "<" : ">") ?"
        if let hasEnded = selection.hasEnded { sql += hasEnded ? " AND ended IS NOT NULL" : " AND ended IS NULL" }
        sql += " AND (ended IS NULL OR ended >= ?) AND starting < ? ORDER BY number"
        sql += newestFirst ? " DESC LIMIT ?" : " LIMIT ?"
        let statement = sql
        return try await read { db in
            let rows = try Row.fetchAll(
                db, sql: statement,
                arguments: [
                    selection.application.description, place, selection.from?.millisecondsSinceEpoch ?? .min,
                    selection.to?.millisecondsSinceEpoch ?? .max, limit,
                ])
            return Page(elements: rows.map(Self.stream), next: rows.count == limit ? rows.last?["number"] : nil)
        }
    }

    /// A viewing, and the tags of the stream that was watched.
    public struct Watched: Sendable {
        public let viewing: ViewingRecord
        public let streamTags: [String]
    }

    /// What was watched of an application's streams between two times, the oldest first.
    ///
    /// - Parameters:
    ///   - after: `next` of the page before.
    ///   - limit: at least 1.
    public func viewings(
        of application: ApplicationID, from: WallTime, to: WallTime, after: Int64 = 0, limit: Int
    ) async throws(RecordsError) -> Page<Watched> {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT v.*, s.tags AS streamTags FROM viewing v LEFT JOIN stream s ON s.id = v.stream
                    WHERE v.application = ? AND v.number > ? AND v.began < ? AND (v.ended IS NULL OR v.ended >= ?)
                    ORDER BY v.number LIMIT ?
                    """,
                arguments: [
                    application.description, after, to.millisecondsSinceEpoch, from.millisecondsSinceEpoch, limit,
                ])
            let watched = rows.map { row in
                Watched(viewing: Self.viewing(row), streamTags: StringList.list(row["streamTags"] ?? "[]"))
            }
            return Page(elements: watched, next: rows.count == limit ? rows.last?["number"] : nil)
        }
    }

    /// A stream of any time; nil when there is none of that id, or it is another application's.
    public func stream(_ id: StreamID, of application: ApplicationID) async throws(RecordsError) -> StreamRecord? {
        let found = try await read { db in try Self.stream(id, db) }
        return found?.application == application ? found : nil
    }

    static func stream(_ id: StreamID, _ db: Database) throws -> StreamRecord? {
        try Row.fetchOne(db, sql: "SELECT * FROM stream WHERE id = ?", arguments: [id.description]).map(Self.stream)
    }

    static func stream(_ row: Row) -> StreamRecord {
        StreamRecord(
            id: StreamID(row["id"]), application: ApplicationID(row["application"]),
            session: (row["session"] as String?).map { SessionID($0) }, tags: StringList.list(row["tags"]),
            capabilities: StringList.list(row["capabilities"]),
            starting: WallTime(millisecondsSinceEpoch: row["starting"]), started: time(row["started"]),
            ended: time(row["ended"]), reason: row["reason"],
            counts: ViewerCounts(views: row["views"], mostViewers: row["mostViewers"]),
            publisher: row["publisher"])
    }

    static func viewing(_ row: Row) -> ViewingRecord {
        ViewingRecord(
            id: StreamID(row["id"]), stream: StreamID(row["stream"]), application: ApplicationID(row["application"]),
            session: (row["session"] as String?).map { SessionID($0) }, tags: StringList.list(row["tags"]),
            began: WallTime(millisecondsSinceEpoch: row["began"]), ended: time(row["ended"]), reason: row["reason"])
    }

    static func time(_ milliseconds: Int64?) -> WallTime? { milliseconds.map(WallTime.init(millisecondsSinceEpoch:)) }
}
