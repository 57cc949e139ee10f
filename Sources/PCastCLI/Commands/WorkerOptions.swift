import ArgumentParser
import Foundation
import PCastPlatform

/// The options of `pcast serve` for ingest and egress jobs.
struct WorkerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Addresses that streams may be pulled from and pushed to although they are not public, as 10.0.0.0/8; may "
                + "be repeated.", valueName: "network"))
    var mediaAllow: [NetworkArgument] = []

    @Option(
        help: ArgumentHelp(
            "Ports on which encoders may be listened for by SRT, as 9000-9010. (default: none)", valueName: "ports"))
    var srtPullPorts: PortsArgument?

    @Option(
        help: ArgumentHelp(
            "The folder in which files may be read and written by file:// URIs. (default: none)",
            valueName: "directory"))
    var mediaDirectory: String?

    @Option(
        help: ArgumentHelp(
            "Streams from and to URIs at one time, each in a process of its own; 0 allows none. (default: 16)",
            valueName: "count"))
    var maxJobs: Int?

    func configuration(_ settings: Settings) throws -> WorkerConfiguration? {
        let folder = try settings.value("media-directory", mediaDirectory)
        if let folder, !Folder.exists(folder) {
            throw CommandFailure(
                .unusableArguments, "--media-directory: there is no folder “\(folder)”; make it, or give another.")
        }
        let limit = try settings.value("max-jobs", maxJobs) ?? WorkerConfiguration.usualLimit
        guard limit > 0, let program = Bundle.main.executablePath else { return nil }
        return WorkerConfiguration(
            program: program, arguments: ["worker"],
            networks: try settings.values("media-allow", mediaAllow).map(\.network),
            listenerPorts: try settings.value("srt-pull-ports", srtPullPorts)?.ports,
            folder: folder, limit: limit)
    }
}
