internal import GRDB
public import PCastCore

/// The outbox of uploads of recordings.
extension Records {
    /// Adds the files of recordings that the outbox lacks: those of recordings that a killed platform left open, and those
    /// of recordings that ended before uploads were configured. Call it while no stream is recorded.
    ///
    /// - Parameters:
    ///   - now: The time at which the uploads are due.
    ///   - upload: Returns the upload of a file.
    /// - Returns: The number of files.
    /// - Throws: ``RecordsError``.
    @discardableResult
    public func addMissingUploads(
        at now: WallTime, _ upload: @escaping @Sendable (RecordedFile) -> UploadRecord
    ) async throws(RecordsError) -> Int {
        try await write { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT s.stream, s.epoch, s.rendition, s.file, max(s.offset + s.length) AS size
                    FROM recording r JOIN segment s ON s.stream = r.stream
                    WHERE r.deleted IS NULL AND (r.ended IS NULL OR r.failure IS NOT NULL
                        OR NOT EXISTS (SELECT 1 FROM upload u WHERE u.stream = r.stream))
                    GROUP BY s.stream, s.epoch, s.rendition, s.file ORDER BY r.number, s.epoch, s.rendition, s.file
                    """)
            var count = 0
            for row in rows {
                let file = RecordedFile(
                    stream: StreamID(row["stream"]), epoch: row["epoch"], rendition: row["rendition"],
                    number: row["file"], size: row["size"])
                try Self.insert(upload(file), at: now, db)
                count += db.changesCount
            }
            return count
        }
    }

    /// Adds an upload, unless the outbox has it or the recording was deleted.
    static func insert(_ upload: UploadRecord, at now: WallTime, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO upload
                    (stream, epoch, rendition, file, size, bucket, key, state, isLocal, attempts, due, parts)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', 1, 0, ?8, '[]'
                WHERE EXISTS (SELECT 1 FROM recording WHERE stream = ?1 AND deleted IS NULL)
                ON CONFLICT (stream, epoch, rendition, file) DO NOTHING
                """,
            arguments: [
                upload.file.stream.description, upload.file.epoch, upload.file.rendition, upload.file.number,
                upload.file.size, upload.bucket, upload.key, now.millisecondsSinceEpoch,
            ])
    }

    /// Lets the objects of a recording be deleted, also those whose upload has only begun.
    static func deleteObjects(of stream: StreamID, at now: WallTime, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE upload SET state = 'deleting', attempts = 0, due = ? WHERE stream = ? AND state != 'deleting'",
            arguments: [now.millisecondsSinceEpoch, stream.description])
    }

    // MARK: Reading

    /// Returns the uploads and deletions that are due, at most `limit`. Those that are due longest come first.
    ///
    /// - Throws: ``RecordsError``.
    public func dueUploads(at now: WallTime, limit: Int) async throws(RecordsError) -> [UploadRecord] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM upload WHERE state IN ('pending', 'deleting') AND due <= ?
                    ORDER BY due, stream, epoch, file, rendition LIMIT ?
                    """, arguments: [now.millisecondsSinceEpoch, limit]
            ).map(Self.upload)
        }
    }

    /// Returns the files that were uploaded and are still on the disk, at most `limit`.
    ///
    /// - Throws: ``RecordsError``.
    public func uploadedLocalFiles(limit: Int) async throws(RecordsError) -> [UploadRecord] {
        try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM upload WHERE state = 'uploaded' AND isLocal = 1 LIMIT ?", arguments: [limit]
            ).map(Self.upload)
        }
    }

    /// Returns all uploads of a recording.
    ///
    /// - Throws: ``RecordsError``.
    public func uploads(of stream: StreamID) async throws(RecordsError) -> [UploadRecord] {
        try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM upload WHERE stream = ? ORDER BY epoch, rendition, file",
                arguments: [stream.description]
            ).map(Self.upload)
        }
    }

    /// Returns the upload of a file; nil if there is none.
    ///
    /// - Throws: ``RecordsError``.
    public func upload(
        of stream: StreamID, epoch: Int, rendition: String, number: Int
    ) async throws(RecordsError) -> UploadRecord? {
        try await read { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM upload WHERE stream = ? AND epoch = ? AND rendition = ? AND file = ?",
                arguments: [stream.description, epoch, rendition, number]
            ).map(Self.upload)
        }
    }

    /// Returns the number of files that wait for their upload, and of objects that wait for their deletion.
    ///
    /// - Throws: ``RecordsError``.
    public func pendingUploadCount() async throws(RecordsError) -> Int {
        try await read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM upload WHERE state IN ('pending', 'deleting')") ?? 0
        }
    }

    // MARK: Progress

    /// The progress of an upload.
    public enum UploadProgress: Sendable, Hashable {
        /// A multipart upload begins, or begins again.
        case began(multipartID: String?)
        /// A part was uploaded.
        case part(entityTag: String)
        /// The attempt failed, and another one follows.
        case retry(at: WallTime, answer: String)
        /// The file cannot be uploaded.
        case failed(answer: String)
        /// The object store has confirmed the object.
        case uploaded
        /// The file was deleted from the disk.
        case deletedLocally
        /// The object was deleted.
        case deletedObject
    }

    /// Records the progress of an upload. At most 200 characters of an answer are stored.
    ///
    /// - Throws: ``RecordsError``.
    public func note(_ progress: UploadProgress, of key: UploadRecord.OutboxKey) async throws(RecordsError) {
        let condition = "WHERE stream = :stream AND epoch = :epoch AND rendition = :rendition AND file = :file"
        var arguments: [String: (any DatabaseValueConvertible)?] = [
            "stream": key.stream, "epoch": key.epoch, "rendition": key.rendition, "file": key.number,
        ]
        let statement: String
        switch progress {
        case .began(let id):
            statement = "UPDATE upload SET multipartID = :value, parts = '[]' \(condition)"
            arguments.updateValue(id, forKey: "value")
        case .part(let tag):
            statement = "UPDATE upload SET parts = json_insert(parts, '$[#]', :value), attempts = 0 \(condition)"
            arguments["value"] = tag
        case .retry(let time, let answer):
            statement = "UPDATE upload SET attempts = attempts + 1, due = :due, answer = :value \(condition)"
            arguments["due"] = time.millisecondsSinceEpoch
            arguments["value"] = String(answer.prefix(200))
        case .failed(let answer):
            statement = "UPDATE upload SET state = 'failed', answer = :value \(condition) AND state = 'pending'"
            arguments["value"] = String(answer.prefix(200))
        case .uploaded:
            statement = """
                UPDATE upload SET state = 'uploaded', multipartID = NULL, parts = '[]', answer = NULL
                \(condition) AND state = 'pending'
                """
        case .deletedLocally: statement = "UPDATE upload SET isLocal = 0 \(condition)"
        case .deletedObject: statement = "DELETE FROM upload \(condition) AND state = 'deleting'"
        }
        let bound = StatementArguments(arguments)
        try await write { db in try db.execute(sql: statement, arguments: bound) }
    }

    private static func upload(_ row: Row) -> UploadRecord {
        var upload = UploadRecord(
            file: RecordedFile(
                stream: StreamID(row["stream"]), epoch: row["epoch"], rendition: row["rendition"],
                number: row["file"], size: row["size"]),
            bucket: row["bucket"], key: row["key"])
        upload.state = UploadRecord.State(rawValue: row["state"]) ?? .failed
        upload.isLocal = row["isLocal"]
        upload.attempts = row["attempts"]
        upload.multipartID = row["multipartID"]
        upload.parts = StringList.list(row["parts"])
        return upload
    }
}
