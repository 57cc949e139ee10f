internal import GRDB
public import PCastCore

extension Records {
    /// A page of a long list.
    public struct Page<Element: Sendable>: Sendable {
        /// The elements of the page.
        public let elements: [Element]
        /// The value to pass as `after` for the next page; nil if this is the last one.
        public let next: Int64?
    }

    /// A selection of an application's streams that overlap a period.
    public struct StreamSelection: Sendable {
        /// The application.
        public var application: ApplicationID
        /// Whether only ended (true) or only live streams (false) are selected; nil for both.
        public var hasEnded: Bool?
        /// The beginning of the period; nil for no limit.
        public var from: WallTime?
        /// The end of the period, which it excludes; nil for no limit.
        public var to: WallTime?

        /// Creates a selection.
        public init(_ application: ApplicationID, hasEnded: Bool? = nil, from: WallTime? = nil, to: WallTime? = nil) {
            self.application = application
            self.hasEnded = hasEnded
            self.from = from
            self.to = to
        }
    }

    /// Returns streams, oldest first unless `newestFirst` is true. `after` is `next` of the previous page, or 0 for the
    /// first one. `limit` is the maximum number of elements, at least 1.
    ///
    /// - Throws: ``RecordsError``.
    public func streams(
        _ selection: StreamSelection, newestFirst: Bool = false, after: Int64 = 0, limit: Int
    ) async throws(RecordsError) -> Page<StreamRecord> {
        let cursor = newestFirst && after == 0 ? Int64.max : after
        var sql = "SELECT * FROM stream WHERE application = ? AND number \(newestFirst ? "<" : ">") ?"
        if let hasEnded = selection.hasEnded { sql += hasEnded ? " AND ended IS NOT NULL" : " AND ended IS NULL" }
        sql += " AND (ended IS NULL OR ended >= ?) AND starting < ? ORDER BY number"
        sql += newestFirst ? " DESC LIMIT ?" : " LIMIT ?"
        let statement = sql
        return try await read { db in
            let rows = try Row.fetchAll(
                db, sql: statement,
                arguments: [
                    selection.application.description, cursor, selection.from?.millisecondsSinceEpoch ?? .min,
                    selection.to?.millisecondsSinceEpoch ?? .max, limit,
                ])
            return Page(elements: rows.map(Self.stream), next: rows.count == limit ? rows.last?["number"] : nil)
        }
    }

    /// A viewing with the tags of the viewed stream.
    public struct TaggedViewing: Sendable {
        /// The viewing.
        public let viewing: ViewingRecord
        /// The tags of the stream; empty if the stream was deleted.
        public let streamTags: [String]
    }

    /// Returns the viewings of an application that overlap a period, oldest first. `after` is `next` of the previous
    /// page, or 0 for the first one. `limit` is the maximum number of elements, at least 1.
    ///
    /// - Throws: ``RecordsError``.
    public func viewings(
        of application: ApplicationID, from: WallTime, to: WallTime, after: Int64 = 0, limit: Int
    ) async throws(RecordsError) -> Page<TaggedViewing> {
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
                TaggedViewing(viewing: Self.viewing(row), streamTags: StringList.list(row["streamTags"] ?? "[]"))
            }
            return Page(elements: watched, next: rows.count == limit ? rows.last?["number"] : nil)
        }
    }

    /// Returns a live or ended stream; nil if it does not exist or belongs to another application.
    ///
    /// - Throws: ``RecordsError``.
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

/// The viewing of a stream by one subscriber.
public struct ViewingRecord: Sendable, Hashable {
    /// The identifier of the subscriber's own stream.
    public var id: StreamID
    /// The identifier of the viewed stream.
    public var stream: StreamID
    /// The application.
    public var application: ApplicationID
    /// The session of the subscriber; nil if there is none.
    public var session: SessionID?
    /// The tags of the subscriber's token.
    public var tags: [String]
    /// The time at which the viewing began.
    public var began: WallTime
    /// The time at which the viewing ended; nil while it lasts.
    public var ended: WallTime?
    /// The end reason; nil while the viewing lasts.
    public var reason: String?

    /// Creates a record.
    public init(
        id: StreamID, stream: StreamID, application: ApplicationID, session: SessionID?, tags: [String],
        began: WallTime, ended: WallTime? = nil, reason: String? = nil
    ) {
        self.id = id
        self.stream = stream
        self.application = application
        self.session = session
        self.tags = tags
        self.began = began
        self.ended = ended
        self.reason = reason
    }
}
