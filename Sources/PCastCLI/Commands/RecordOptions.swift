import ArgumentParser
import PCastCore
import PCastPlatform

/// The options of `pcast serve` for persistent data.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Directory of persistent data; created if missing. (default: data is kept in memory)",
            valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "File with the key that encrypts secrets: 32 bytes in Base64. (default: generated in --data)",
            valueName: "file"))
    var dataKey: String?

    @Option(
        help: ArgumentHelp(
            "Time that ended streams and their views are kept. (default: 720h)", valueName: "duration"))
    var retention: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Network that webhooks may reach although it is not public, such as 10.0.0.0/8. Repeatable.",
            valueName: "network"))
    var webhookAllow: [NetworkArgument] = []

    func keeping(_ settings: Settings) throws -> StorageConfiguration {
        let directory = try settings.value("data", data)
        let keyFile = try settings.value("data-key", dataKey)
        guard directory != nil || keyFile == nil else {
            throw CommandFailure(.unusableArguments, "--data-key encrypts persistent data: add --data.")
        }
        return StorageConfiguration(
            directory: directory, keyFile: keyFile,
            retention: try settings.value("retention", retention)?.span ?? StorageConfiguration.defaultRetention,
            webhookAllowedNetworks: try settings.values("webhook-allow", webhookAllow).map(\.network),
            fallback: RandomApplication.make(id: "local").platformApplication)
    }
}
