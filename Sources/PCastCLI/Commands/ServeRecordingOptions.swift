import ArgumentParser
import PCastCore
import PCastPlatform
import PCastWeb

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

    @Option(
        help: ArgumentHelp(
            "Bucket of an S3-compatible object store to which recordings are uploaded. Requires --data.",
            valueName: "name"))
    var s3Bucket: String?

    @Option(help: ArgumentHelp("Address of the object store. (default: AWS in the region)", valueName: "uri"))
    var s3Endpoint: String?

    @Option(help: ArgumentHelp("Region of the object store. (default: us-east-1)", valueName: "name"))
    var s3Region: String?

    @Option(help: ArgumentHelp("Beginning of the names of all objects, such as “live/”.", valueName: "text"))
    var s3Prefix: String?

    @Option(
        help: ArgumentHelp(
            "Credentials file in the form of AWS. (default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",
            valueName: "file"))
    var s3Credentials: String?

    @Flag(help: "Delete recordings from the disk when their upload was confirmed.")
    var s3DeleteLocal = false

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
        configuration.upload = try upload(settings)
    }

    private func upload(_ settings: Settings) throws -> RecordingConfiguration.UploadConfiguration? {
        let endpoint = try settings.value("s3-endpoint", s3Endpoint)
        let region = try settings.value("s3-region", s3Region)
        let prefix = try settings.value("s3-prefix", s3Prefix)
        let credentials = try settings.value("s3-credentials", s3Credentials)
        let deletesLocalFiles = try settings.flag("s3-delete-local", s3DeleteLocal)
        guard let bucket = try settings.value("s3-bucket", s3Bucket) else {
            let isUnused = [endpoint, region, prefix, credentials].allSatisfy { $0 == nil } && !deletesLocalFiles
            guard isUnused else {
                throw CommandFailure(.unusableArguments, "The options --s3-… need a bucket: add --s3-bucket.")
            }
            return nil
        }
        guard (3...63).contains(bucket.utf8.count), bucket.allSatisfy(Self.isPartOfBucket) else {
            throw CommandFailure(
                .unusableArguments,
                "--s3-bucket \(bucket): the name must have 3 to 63 lower-case letters, digits, “-” and “.”.")
        }
        if let endpoint, !Self.isAddress(endpoint) {
            throw CommandFailure(
                .unusableArguments, "--s3-endpoint \(endpoint): the address must be such as https://s3.example.com.")
        }
        if let region, region.isEmpty || !region.allSatisfy(Self.isPartOfBucket) {
            throw CommandFailure(.unusableArguments, "--s3-region \(region): the name must be such as eu-central-1.")
        }
        if let prefix, prefix.hasPrefix("/") || prefix.utf8.count > 256 {
            throw CommandFailure(
                .unusableArguments,
                "--s3-prefix \(prefix): the text must not begin with “/”, and have at most 256 bytes.")
        }
        var upload = RecordingConfiguration.UploadConfiguration(bucket: bucket)
        upload.endpoint = endpoint
        upload.region = region ?? upload.region
        upload.prefix = prefix ?? upload.prefix
        if let credentials { upload.credentials = .file(credentials) }
        upload.deletesLocalFiles = deletesLocalFiles
        return upload
    }

    private static func isPartOfBucket(_ character: Character) -> Bool {
        character.isASCII && (character.isLowercase || character.isNumber || character == "-" || character == ".")
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let address = try? WebAddress(text) else { return false }
        return text.lowercased().hasPrefix("http") && !address.path.contains("?")
    }
}
