import ArgumentParser
import Foundation
import PCastPlatform

/// The options of `pcast serve` for ingest and egress jobs.
struct WorkerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Network that streams may be pulled from and pushed to although it is not public, such as 10.0.0.0/8. "
                + "Repeatable.", valueName: "network"))
    var mediaAllow: [NetworkArgument] = []

    @Option(
        help: ArgumentHelp(
            "Ports for SRT listeners of “pcast pull”, such as 9000-9010. (default: none)", valueName: "ports"))
    var srtPullPorts: PortsArgument?

    @Option(
        help: ArgumentHelp(
            "Directory in which file:// URIs may be read and written. (default: none)",
            valueName: "directory"))
    var mediaDirectory: String?

    @Option(
        help: ArgumentHelp(
            "Maximum number of simultaneous jobs: pulls, SRT listeners and pushes, each in its own process; 0 disables "
                + "them. (default: 16)",
            valueName: "count"))
    var maxJobs: Int?

    func configuration(_ settings: Settings) throws -> JobConfiguration? {
        let folder = try settings.value("media-directory", mediaDirectory)
        if let folder, !Folder.exists(folder) {
            throw CommandFailure(
                .unusableArguments, "--media-directory “\(folder)” is not a directory: create it, or give another one.")
        }
        let limit = try settings.value("max-jobs", maxJobs) ?? JobConfiguration.defaultLimit
        guard limit > 0, let program = Bundle.main.executablePath else { return nil }
        return JobConfiguration(
            program: program, arguments: ["worker"],
            networks: try settings.values("media-allow", mediaAllow).map(\.network),
            listenerPorts: try settings.value("srt-pull-ports", srtPullPorts)?.ports,
            directory: folder, limit: limit)
    }
}
