/// The configuration of recordings.
public struct RecordingConfiguration: Hashable, Sendable {
    /// The folder of all recordings; nil for `recordings` in the data directory. Without a data directory, nothing is
    /// recorded.
    public var directory: String?
    /// Whether each stream is recorded. Otherwise only those are whose publisher's token has the capability `on-demand`.
    public var recordsEveryStream = false
    /// Whether recordings contain AAC beside Opus, for players without Opus. The audio is then transcoded all the time.
    public var includesAAC = true
    /// The interval in which media are synced: what a loss of power costs at most. It is within ``syncIntervals``.
    public var syncInterval = Duration.seconds(1)
    /// The time after their end at which recordings are deleted; nil for no limit.
    public var retention: Duration? = .seconds(30 * 86_400)
    /// The bytes of each application's recordings. The oldest ones beyond them are deleted; nil for no limit.
    public var maximumSize: Int64?
    /// The free space of the file system, in bytes, below which recordings end.
    public var reserve: Int64 = 512 << 20

    /// The object store to which recordings are uploaded; nil for none.
    public var upload: UploadConfiguration?

    /// The intervals in which media can be synced.
    public static let syncIntervals = Duration.milliseconds(100)...Duration.seconds(60)

    /// Creates the default configuration.
    public init() {}
}

extension RecordingConfiguration {
    /// The upload of recordings to an S3-compatible object store.
    public struct UploadConfiguration: Hashable, Sendable {
        /// The source of the credentials.
        public enum Credentials: Hashable, Sendable {
            /// The variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
            case environment
            /// A credentials file in the form of AWS. It is read again when it changes.
            case file(String)
        }

        /// The address of the object store; nil for that of AWS in the region.
        public var endpoint: String?
        /// The bucket, which must exist.
        public var bucket: String
        /// The region in signatures.
        public var region = Self.defaultRegion
        /// The beginning of the names of all objects.
        public var prefix = ""
        /// The source of the credentials.
        public var credentials = Credentials.environment
        /// Whether files are deleted from the disk when their upload was confirmed.
        public var deletesLocalFiles = false

        /// The default of ``region``.
        public static let defaultRegion = "us-east-1"

        /// Creates a configuration.
        public init(bucket: String) { self.bucket = bucket }
    }
}
