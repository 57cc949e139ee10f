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

    /// The intervals in which media can be synced.
    public static let syncIntervals = Duration.milliseconds(100)...Duration.seconds(60)

    /// Creates the default configuration.
    public init() {}
}
