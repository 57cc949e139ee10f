import ArgumentParser
import PCastCore
import PCastPlatform

/// The options of `pcast serve` for persistent data.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where lasting things go, made if missing; without it they are kept in memory.", valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "The key that secrets in --data are sealed with: 32 bytes in base 64. (default: made, in --data)",
            valueName: "file"))
    var dataKey: String?

    @Option(
        help: ArgumentHelp(
            "How long ended streams, and who watched them, are remembered. (default: 720h)", valueName: "duration"))
    var retention: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Addresses that callbacks may reach although they are not public, as 10.0.0.0/8; may be repeated.",
            valueName: "network"))
    var webhookAllow: [NetworkArgument] = []

    func keeping(_ settings: Settings) throws -> StorageConfiguration {
        let directory = try settings.value("data", data)
        let keyFile = try settings.value("data-key", dataKey)
        guard directory != nil || keyFile == nil else {
            throw CommandFailure(.unusableArguments, "--data-key seals what is kept: give --data as well.")
        }
        return StorageConfiguration(
            directory: directory, keyFile: keyFile,
            retention: try settings.value("retention", retention)?.span ?? StorageConfiguration.defaultRetention,
            webhookAllowedNetworks: try settings.values("webhook-allow", webhookAllow).map(\.network),
            fallback: RandomApplication.make(id: "local").platformApplication)
    }
}
