import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastRecording
import PCastWeb

/// Uploads the files of recordings in the outbox, and deletes the objects of deleted recordings. A failed attempt is
/// retried with increasing delays, without end. A multipart upload continues after its last part.
actor RecordingUploader {
    private let records: Records
    private let objects: RecordingObjects
    private let root: String
    private let schedule: RetrySchedule
    private let reader = FileReadingQueue(width: RecordingUploader.maximumCount)
    private let onDeletedLocally: @Sendable (StreamID) -> Void
    private let logger: Logger
    private var underway: Set<UploadRecord.OutboxKey> = []
    private var isFailing = false
    private let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// The number of files at the same time, each with one part in memory.
    private static let maximumCount = 4
    /// The size of parts, and of the largest file that is uploaded in one request. S3 requires at least 5 MiB.
    static let partSize: Int64 = 8 << 20
    /// The interval in which the outbox is read.
    private static let interval = TimeSpan.seconds(1 as Int64)
    private static let localLimit = 100

    /// The reason why an attempt failed.
    private enum Failure: Error {
        case object(S3Error)
        /// The file is not on the disk as it was recorded.
        case file(RecordingError)
        /// The object differs from what was uploaded.
        case unconfirmed(String)
        /// The platform is stopping.
        case cancelled
    }

    /// Creates an uploader of the files below a folder. `onDeletedLocally` is called before files of a recording are
    /// deleted from the disk.
    init(
        _ records: Records, objects: RecordingObjects, root: String, schedule: RetrySchedule = .upload, logger: Logger,
        onDeletedLocally: @escaping @Sendable (StreamID) -> Void
    ) {
        self.records = records
        self.objects = objects
        self.root = root
        self.schedule = schedule
        self.logger = logger
        self.onDeletedLocally = onDeletedLocally
    }

    /// Uploads until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            let alarm = DebouncedTimer(wakeup)
            alarm.set(to: .zero)
            for await _ in wakeups {
                if objects.configuration.deletesLocalFiles { await deleteLocalFiles() }
                await begin(in: &group)
                alarm.set(to: Self.interval)
            }
            alarm.cancel()
            group.cancelAll()
        }
    }

    private func begin(in group: inout DiscardingTaskGroup) async {
        guard underway.count < Self.maximumCount else { return }
        // Active uploads are still due, so they are part of the result and are skipped.
        let limit = Self.maximumCount + underway.count
        let due = (try? await records.dueUploads(at: MonotonicClock.wallTime(), limit: limit)) ?? []
        for upload in due where underway.count < Self.maximumCount && underway.insert(upload.outboxKey).inserted {
            group.addTask { await self.attempt(upload) }
        }
    }

    private func attempt(_ upload: UploadRecord) async {
        let metadata: Logger.Metadata = ["object": "\(upload.bucket)/\(upload.key)"]
        do throws(Failure) {
            if upload.state == .deleting {
                try await delete(upload)
                logger.debug("object of a deleted recording deleted", metadata: metadata)
            } else {
                try await transfer(upload)
                logger.info("file of a recording uploaded", metadata: metadata)
            }
            if isFailing { logger.notice("the object store accepts requests again") }
            isFailing = false
        } catch {
            await note(error, of: upload, metadata)
        }
        underway.remove(upload.outboxKey)
        wakeup.yield()
    }

    private func note(_ failure: Failure, of upload: UploadRecord, _ metadata: Logger.Metadata) async {
        let reason: String
        switch failure {
        case .cancelled: return
        case .file(let error):
            let folder = RecordingFolder(root: root, stream: upload.file.stream)
            if case .inaccessible = error, folder.contains(.init(upload.file)) {
                reason = "\(error)"
                break
            }
            // A recording that was deleted meanwhile has no files.
            logger.warning("a file of a recording cannot be uploaded: \(error)", metadata: metadata)
            try? await write(.failed(answer: "\(error)"), of: upload)
            return
        case .object(let error): reason = "\(error)"
        case .unconfirmed(let text): reason = text
        }
        let time = schedule.nextAttempt(
            afterAttempts: upload.attempts, at: MonotonicClock.wallTime(), random: Double.random(in: 0..<1))
        // One warning is enough for an outage.
        logger.log(
            level: isFailing ? .info : .warning,
            "recordings are not uploaded, which is retried: \(reason)", metadata: metadata)
        isFailing = true
        try? await write(.retry(at: time, answer: reason), of: upload)
    }

    /// Records progress, which must be on the disk before the next step.
    private func write(_ progress: Records.UploadProgress, of upload: UploadRecord) async throws(Failure) {
        while (try? await records.note(progress, of: upload.outboxKey)) == nil {
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { throw .cancelled }
        }
    }

    // MARK: Requests

    private func request<Value: Sendable>(
        _ operation: @Sendable (S3Client) async throws(S3Error) -> Value
    ) async throws(Failure) -> Value {
        do throws(S3Error) {
            return try await operation(objects.client)
        } catch {
            throw Task.isCancelled ? Failure.cancelled : Failure.object(error)
        }
    }

    private func delete(_ upload: UploadRecord) async throws(Failure) {
        let object = S3Object(bucket: upload.bucket, key: upload.key)
        if let id = upload.multipartID {
            try await request { client async throws(S3Error) in try await client.abortUpload(id, object) }
        }
        try await request { client async throws(S3Error) in try await client.delete(object) }
        try await write(.deletedObject, of: upload)
    }

    private func transfer(_ upload: UploadRecord) async throws(Failure) {
        let object = S3Object(bucket: upload.bucket, key: upload.key)
        let entityTag: String
        if upload.file.size <= Self.partSize {
            let content = try await read(upload, 0..<upload.file.size)
            entityTag = try await request { client async throws(S3Error) in try await client.put(object, content) }
        } else {
            do throws(Failure) {
                entityTag = try await transferParts(of: upload, to: object)
            } catch {
                // The object store has discarded the parts, so the next attempt begins again.
                if case .object(let answer) = error, answer.isMissing {
                    try await write(.began(multipartID: nil), of: upload)
                }
                throw error
            }
        }
        let confirmed = try await request { client async throws(S3Error) in try await client.describe(object) }
        guard confirmed.size == upload.file.size, confirmed.entityTag == entityTag else {
            throw .unconfirmed(
                "the object has \(confirmed.size) bytes and the tag \(confirmed.entityTag), not \(upload.file.size) and "
                    + entityTag)
        }
        try await write(.uploaded, of: upload)
    }

    private func transferParts(of upload: UploadRecord, to object: S3Object) async throws(Failure) -> String {
        let id: String
        var entityTags = upload.parts
        if let known = upload.multipartID {
            id = known
        } else {
            id = try await request { client async throws(S3Error) in try await client.beginUpload(object) }
            try await write(.began(multipartID: id), of: upload)
            entityTags = []
        }
        let size = upload.file.size
        while Int64(entityTags.count) * Self.partSize < size {
            let start = Int64(entityTags.count) * Self.partSize
            let content = try await read(upload, start..<min(size, start + Self.partSize))
            let number = entityTags.count + 1
            let entityTag = try await request { client async throws(S3Error) in
                try await client.uploadPart(number, of: id, object, content)
            }
            try await write(.part(entityTag: entityTag), of: upload)
            entityTags.append(entityTag)
        }
        let all = entityTags
        return try await request { client async throws(S3Error) in
            try await client.completeUpload(id, object, entityTags: all)
        }
    }

    // MARK: Files

    private func read(_ upload: UploadRecord, _ range: Range<Int64>) async throws(Failure) -> [UInt8] {
        let path = RecordingFolder(root: root, stream: upload.file.stream).path(of: .init(upload.file))
        let result = await reader.run { () throws(RecordingError) -> [UInt8] in try PartFileReader(path).bytes(range) }
        switch result {
        case .success(let bytes): return bytes
        case .failure(let error): throw .file(error)
        }
    }

    /// Deletes files from the disk whose upload was confirmed.
    private func deleteLocalFiles() async {
        let uploaded = (try? await records.uploadedLocalFiles(limit: Self.localLimit)) ?? []
        for upload in uploaded {
            let folder = RecordingFolder(root: root, stream: upload.file.stream)
            onDeletedLocally(upload.file.stream)
            do {
                try folder.remove(.init(upload.file))
                try await records.note(.deletedLocally, of: upload.outboxKey)
            } catch {
                logger.error("an uploaded file remains on the disk: \(error)")
            }
        }
    }
}
