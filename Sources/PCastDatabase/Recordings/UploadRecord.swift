public import PCastCore

/// A file of a recording that is complete.
public struct RecordedFile: Sendable, Hashable {
    /// The stream of the recording.
    public var stream: StreamID
    /// The number of the epoch.
    public var epoch: Int
    /// The name of the rendition.
    public var rendition: String
    /// The number of the file.
    public var number: Int
    /// The size in bytes.
    public var size: Int64

    /// Creates a record.
    public init(stream: StreamID, epoch: Int, rendition: String, number: Int, size: Int64) {
        self.stream = stream
        self.epoch = epoch
        self.rendition = rendition
        self.number = number
        self.size = size
    }
}

/// The upload of a file to an object store. All uploads together are the outbox of uploads.
public struct UploadRecord: Sendable, Hashable {
    /// The state of an upload.
    public enum State: String, Sendable, CaseIterable {
        case pending
        /// The object store has confirmed the object.
        case uploaded
        /// The file cannot be uploaded, because it is not on the disk.
        case failed
        /// The recording was deleted, and the object is to be deleted.
        case deleting
    }

    /// The primary key of an upload in the outbox.
    public struct OutboxKey: Sendable, Hashable {
        let stream: String
        let epoch: Int
        let rendition: String
        let number: Int
    }

    /// The file.
    public var file: RecordedFile
    /// The bucket of the object.
    public var bucket: String
    /// The name of the object in the bucket.
    public var key: String
    /// The state.
    public var state = State.pending
    /// Whether the file is on the disk, although it was uploaded.
    public var isLocal = true
    /// The number of failed attempts since the last progress.
    public var attempts = 0
    /// The ID of the multipart upload that has begun; nil if there is none.
    public var multipartID: String?
    /// The entity tags of the parts that were uploaded.
    public var parts: [String] = []

    /// Creates a record of a file that will be uploaded.
    public init(file: RecordedFile, bucket: String, key: String) {
        self.file = file
        self.bucket = bucket
        self.key = key
    }

    /// The primary key of the upload.
    public var outboxKey: OutboxKey {
        OutboxKey(
            stream: file.stream.description, epoch: file.epoch, rendition: file.rendition, number: file.number)
    }
}

extension RetrySchedule {
    /// The delays of uploads. They do not end, because the recording would be lost with the disk.
    public static let upload = RetrySchedule(waits: [1, 2, 5, 15, 60, 300].map { .seconds($0) })

    /// Returns the time of the next attempt after a failed one. The last delay repeats. `attempts` is the number of earlier
    /// failed attempts, and `random`, from 0 to below 1, extends the delay by up to a fifth.
    public func nextAttempt(afterAttempts attempts: Int, at now: WallTime, random: Double) -> WallTime {
        let wait = waits[max(0, min(attempts, waits.count - 1))]
        return now + TimeSpan(seconds: wait.seconds * (1 + 0.2 * random))
    }
}
