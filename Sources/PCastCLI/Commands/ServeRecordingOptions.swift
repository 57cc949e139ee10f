import ArgumentParser
import PCastCore
import PCastPlatform

/// The options of `pcast serve` for recordings.
struct ServeRecordingOptions: ParsableArguments {
    @Flag(help: "Record every stream, also without the capability “on-demand”. Requires --data.")
    var record = false

    @Option(help: ArgumentHelp("Folder of recordings. (default: recordings in --data)", valueName: "directory"))
    var recordings: String?

    @Option(
        help: ArgumentHelp(
            "Interval of writing media to the disk, which a loss of power costs, from 100ms to 60s. (default: 1s)",
            valueName: "duration"))
    var recordingSync: DurationArgument?

    @Option(
        help: ArgumentHelp("Time after which recordings are deleted. (default: 30 days)", valueName: "duration"))
    var recordingRetention: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Size of an application's recordings in GB. The oldest beyond it are deleted.", valueName: "gigabytes"))
    var recordingSize: Int?

    /// The bytes of a gigabyte.
    private static let gigabyte: Int64 = 1_000_000_000

    func apply(_ settings: Settings, to configuration: inout RecordingConfiguration) throws {
        configuration.recordsEveryStream = try settings.flag("record", record)
        configuration.directory = try settings.value("recordings", recordings)
        if let interval = try settings.value("recording-sync", recordingSync)?.span {
            guard RecordingConfiguration.syncIntervals.contains(interval.duration) else {
                throw CommandFailure(
                    .unusableArguments, "--recording-sync \(interval): the duration must be 100ms to 60s.")
            }
            configuration.syncInterval = interval.duration
        }
        if let retention = try settings.value("recording-retention", recordingRetention)?.span {
            configuration.retention = retention.duration
        }
        if let size = try settings.value("recording-size", recordingSize) {
            guard (1...1_000_000).contains(size) else {
                throw CommandFailure(
                    .unusableArguments, "--recording-size \(size): the size must be 1 to 1000000 GB.")
            }
            configuration.maximumSize = Int64(size) * Self.gigabyte
        }
    }
}
