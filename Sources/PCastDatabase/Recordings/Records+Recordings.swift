import FoundationEssentials
internal import GRDB
public import PCastCore

extension Records {
    /// A recording with everything that its playlists list.
    public struct RecordingContents: Sendable {
        /// The recording.
        public let recording: RecordingRecord
        /// The stream's tags; empty if the stream was deleted from the database.
        public let tags: [String]
        /// The renditions, in the order of epochs and names.
        public let renditions: [RecordedRendition]
        /// The segments, in the order of epochs, renditions and numbers.
        public let segments: [SegmentRecord]
    }

    /// Returns the recording of a stream, also if it was deleted; nil if there is none.
    ///
    /// - Throws: ``RecordsError``.
    public func recording(of stream: StreamID) async throws(RecordsError) -> RecordingRecord? {
        try await read { db in try Self.recording(of: stream, db) }
    }

    /// Returns the recording of a stream with its renditions and segments; nil if there is none, or if it was deleted.
    ///
    /// - Throws: ``RecordsError``.
    public func contents(ofRecording stream: StreamID) async throws(RecordsError) -> RecordingContents? {
        try await read { db in
            guard let recording = try Self.recording(of: stream, db), recording.deleted == nil else { return nil }
            let renditions = try Row.fetchAll(
                db, sql: "SELECT * FROM recordedRendition WHERE stream = ? ORDER BY epoch, name",
                arguments: [stream.description])
            let segments = try Row.fetchAll(
                db, sql: "SELECT * FROM segment WHERE stream = ? ORDER BY epoch, rendition, number",
                arguments: [stream.description])
            return RecordingContents(
                recording: recording, tags: try Self.stream(stream, db)?.tags ?? [],
                renditions: renditions.map(Self.rendition), segments: segments.map(Self.segment))
        }
    }

    /// Returns the recordings of an application that were not deleted, oldest or newest first. `after` is `next` of the
    /// previous page, or 0 for the first one. `limit` is the maximum number of elements, at least 1.
    ///
    /// - Throws: ``RecordsError``.
    public func recordings(
        of application: ApplicationID, newestFirst: Bool = false, after: Int64 = 0, limit: Int
    ) async throws(RecordsError) -> Page<RecordingRecord> {
        let condition = newestFirst ? after > 0 ? "number < ?" : "? = 0" : "number > ?"
        return try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM recording WHERE application = ? AND deleted IS NULL AND \(condition)
                    ORDER BY number \(newestFirst ? "DESC" : "") LIMIT ?
                    """,
                arguments: [application.description, after, limit])
            return Page(
                elements: try rows.map { try Self.recording($0, db) },
                next: rows.count == limit ? rows.last?["number"] : nil)
        }
    }

    /// Returns the streams of all recordings with their states.
    ///
    /// - Throws: ``RecordsError``.
    public func recordedStreams() async throws(RecordsError) -> [StreamID: RecordingState] {
        try await read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT stream, ended, deleted FROM recording")
            return Dictionary(
                rows.map { row -> (StreamID, RecordingState) in
                    let isDeleted = (row["deleted"] as Int64?) != nil
                    let isEnded = (row["ended"] as Int64?) != nil
                    return (StreamID(row["stream"]), isDeleted ? .deleted : isEnded ? .ended : .open)
                }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Returns the streams of recordings that have not ended and were not deleted, oldest first.
    ///
    /// - Throws: ``RecordsError``.
    public func openRecordings() async throws(RecordsError) -> [StreamID] {
        try await read { db in
            try String.fetchAll(
                db, sql: "SELECT stream FROM recording WHERE ended IS NULL AND deleted IS NULL ORDER BY number"
            ).map { StreamID($0) }
        }
    }

    /// Returns the recordings that retention deletes: those that ended before a time, and the oldest ended ones of each
    /// application beyond `maximumSize` bytes.
    ///
    /// - Throws: ``RecordsError``.
    public func expiredRecordings(
        before time: WallTime, maximumSize: Int64
    ) async throws(RecordsError) -> [StreamID] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT r.stream, r.application, r.ended,
                        (SELECT ifnull(sum(length), 0) FROM segment g WHERE g.stream = r.stream) AS size
                    FROM recording r WHERE r.deleted IS NULL ORDER BY r.number DESC
                    """)
            var sizes: [String: Int64] = [:]
            var expired: [StreamID] = []
            for row in rows {
                let application: String = row["application"]
                let size: Int64 = row["size"]
                let total = sizes[application, default: 0].addingReportingOverflow(size)
                sizes[application] = total.overflow ? .max : total.partialValue
                guard let ended = row["ended"] as Int64? else { continue }
                if ended < time.millisecondsSinceEpoch || sizes[application, default: 0] > maximumSize {
                    expired.append(StreamID(row["stream"]))
                }
            }
            return expired.reversed()
        }
    }

    // MARK: Keys

    /// Returns the key that signs the addresses of a recording, which is stored sealed. `make` returns a new one for a
    /// recording that has none. Nil if there is no such recording.
    ///
    /// - Throws: ``RecordsError``.
    public func signingKey(
        ofRecording stream: StreamID, make: @escaping @Sendable () -> [UInt8]
    ) async throws(RecordsError) -> [UInt8]? {
        let (sealing, location) = (key, path)
        let context = "recording \(stream)"
        return try await write { db in
            guard
                let row = try Row.fetchOne(
                    db, sql: "SELECT signingKey FROM recording WHERE stream = ?", arguments: [stream.description])
            else { return nil }
            if let sealed = row["signingKey"] as Data? {
                guard let opened = sealing.open(Array(sealed), for: context) else {
                    throw RecordsError.key(path: location, reason: "another key seals that of the recording \(stream)")
                }
                return opened
            }
            let made = make()
            try db.execute(
                sql: "UPDATE recording SET signingKey = ? WHERE stream = ?",
                arguments: [Data(sealing.seal(made, for: context)), stream.description])
            return made
        }
    }

    /// Discards the keys that sign the addresses of an application's recordings, so that these become invalid.
    ///
    /// - Throws: ``RecordsError``.
    public func discardSigningKeys(of applications: Set<ApplicationID>) async throws(RecordsError) {
        try await write { db in
            for application in applications {
                try db.execute(
                    sql: "UPDATE recording SET signingKey = NULL WHERE application = ?",
                    arguments: [application.description])
            }
        }
    }

    // MARK: Changes

    static func apply(_ change: RecordingChange, _ db: Database) throws {
        switch change {
        case .began(let recording):
            // A later epoch continues the recording. A deleted recording stays deleted.
            try db.execute(
                sql: """
                    INSERT INTO recording (stream, application, began, epochs) VALUES (?, ?, ?, ?)
                    ON CONFLICT (stream) DO UPDATE SET
                        epochs = max(epochs, excluded.epochs), ended = NULL, failure = NULL
                    """,
                arguments: [
                    recording.stream.description, recording.application.description,
                    recording.began.millisecondsSinceEpoch, recording.epochs,
                ])
        case .rendition(let rendition): try insert(rendition, db)
        case .segments(let segments): for segment in segments { try insert(segment, db) }
        case .lost(let segments):
            for segment in segments {
                try db.execute(
                    sql: "DELETE FROM segment WHERE stream = ? AND epoch = ? AND rendition = ? AND number = ?",
                    arguments: [segment.stream.description, segment.epoch, segment.rendition, segment.number])
            }
        case .upload(let upload, let time): try insert(upload, at: time, db)
        case .ended(let stream, let time, let failure, let playlist):
            try db.execute(
                sql: "UPDATE recording SET ended = ?, failure = ? WHERE stream = ? AND ended IS NULL",
                arguments: [time.millisecondsSinceEpoch, failure, stream.description])
            guard db.changesCount > 0, let record = try self.stream(stream, db), try hasSegments(stream, db) else {
                return
            }
            try StreamNotification(.onDemand, of: record, at: time, playlist: playlist, failure: failure).post(db)
        case .deleted(let stream, let time):
            try db.execute(
                sql: "UPDATE recording SET deleted = ? WHERE stream = ? AND deleted IS NULL",
                arguments: [time.millisecondsSinceEpoch, stream.description])
            try deleteObjects(of: stream, at: time, db)
            for table in ["segment", "recordedRendition"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE stream = ?", arguments: [stream.description])
            }
        }
    }

    private static func hasSegments(_ stream: StreamID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM segment WHERE stream = ?)", arguments: [stream.description]) ?? false
    }

    private static func insert(_ rendition: RecordedRendition, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO recordedRendition
                    (stream, epoch, name, instance, codec, width, height, frameRate, channels)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (stream, epoch, name) DO UPDATE SET
                    codec = excluded.codec, width = excluded.width, height = excluded.height,
                    frameRate = ifnull(excluded.frameRate, frameRate), channels = excluded.channels
                """,
            arguments: [
                rendition.stream.description, rendition.epoch, rendition.name, rendition.instance, rendition.codec,
                rendition.dimensions?.width, rendition.dimensions?.height, rendition.frameRate, rendition.channels,
            ])
    }

    private static func insert(_ segment: SegmentRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO segment
                    (stream, epoch, rendition, number, file, offset, length, start, duration, initialization,
                    discontinuity, isGap)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (stream, epoch, rendition, number) DO NOTHING
                """,
            arguments: [
                segment.stream.description, segment.epoch, segment.rendition, segment.number, segment.file,
                segment.offset, segment.length, segment.start.nanosecondsSinceEpoch, segment.duration.nanoseconds,
                segment.initialization, segment.discontinuity, segment.isGap,
            ])
    }

    // MARK: Rows

    private static func recording(of stream: StreamID, _ db: Database) throws -> RecordingRecord? {
        guard
            let row = try Row.fetchOne(
                db, sql: "SELECT * FROM recording WHERE stream = ?", arguments: [stream.description])
        else { return nil }
        return try recording(row, db)
    }

    private static func recording(_ row: Row, _ db: Database) throws -> RecordingRecord {
        let name: String = row["stream"]
        let totals = try Row.fetchAll(
            db,
            sql: """
                SELECT sum(length) AS size, sum(duration) AS duration FROM segment WHERE stream = ? GROUP BY rendition
                """,
            arguments: [name])
        return RecordingRecord(
            stream: StreamID(name), application: ApplicationID(row["application"]),
            began: WallTime(millisecondsSinceEpoch: row["began"]), ended: time(row["ended"]), failure: row["failure"],
            deleted: time(row["deleted"]), size: totals.reduce(0) { $0 &+ ($1["size"] as Int64) },
            duration: .nanoseconds(totals.map { $0["duration"] as Int64 }.max() ?? 0), epochs: row["epochs"])
    }

    private static func rendition(_ row: Row) -> RecordedRendition {
        var dimensions: Dimensions?
        if let width = row["width"] as Int?, let height = row["height"] as Int? {
            dimensions = Dimensions(width: width, height: height)
        }
        return RecordedRendition(
            stream: StreamID(row["stream"]), epoch: row["epoch"], name: row["name"], instance: row["instance"],
            codec: row["codec"], dimensions: dimensions, frameRate: row["frameRate"], channels: row["channels"])
    }

    private static func segment(_ row: Row) -> SegmentRecord {
        SegmentRecord(
            stream: StreamID(row["stream"]), epoch: row["epoch"], rendition: row["rendition"], number: row["number"],
            file: row["file"], offset: row["offset"], length: row["length"],
            start: WallTime(nanosecondsSinceEpoch: row["start"]), duration: .nanoseconds(row["duration"]),
            initialization: row["initialization"], discontinuity: row["discontinuity"], isGap: row["isGap"])
    }
}
